#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/value.hpp>

namespace stategraph::inspect {

/// The members that the page does not show (ServerOptions::redact). Copies are independent. Safe from any thread.
class Redaction {
public:
    /// Errors: InvalidArgumentError for an empty pattern.
    explicit Redaction(std::vector<std::string> patterns);

    const std::vector<std::string>& patterns() const noexcept { return patterns_; }
    bool isEmpty() const noexcept { return patterns_.empty(); }
    /// Returns whether a member is hidden, by its own name or by its path ("card.number"). Elements of lists have the
    /// path of the list.
    bool hides(std::string_view path, std::string_view name) const;
    /// Returns a value without its hidden members. `path` is the value's place: a channel, or "" for a map of channels.
    /// Cost: one pass, and none without patterns.
    Value apply(Value value, const std::string& path) const;

private:
    std::vector<std::string> patterns_;  // in lower case
};

}  // namespace stategraph::inspect
