#pragma once
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace stategraph::schema {

/// Where in a value a part of it is. It refers to the place around it.
struct Place {
    static constexpr std::size_t no_index = std::numeric_limits<std::size_t>::max();

    const Place* around = nullptr;
    std::string_view name = {};
    std::size_t index = no_index;

    /// Such as `$[orders][0]`.
    std::string text() const;
};

/// Collects what is wrong with a value.
class Report {
public:
    /// A brief one wants one fault.
    explicit Report(bool is_brief = false) : is_brief_(is_brief) {}

    void add(const Place& place, const std::string& fault);
    bool isBrief() const noexcept { return is_brief_; }
    bool empty() const noexcept { return faults_.empty(); }
    /// All of it in one line.
    std::string text() const;

private:
    std::vector<std::string> faults_;
    std::size_t more_ = 0;
    bool is_brief_;
};

}  // namespace stategraph::schema
