#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

// What comes from outside is checked while it is read: the same codecs, with a decoder that knows it.
namespace stategraph::detail {

/// One strict reading.
struct StrictReading {
    int exceptions = 0;    // that were under way before it
    std::string trail;     // where in lists and maps the error on its way was thrown: "item 2: "
    std::string_view tag;  // the member that the next table leaves to a variant
    bool in_key = false;   // a number may be written as text
};

/// What is wrong with a value, fault by fault, each with its path.
class Faults {
public:
    void add(std::string fault);
    /// Adds those of an error that was thrown inside.
    void addInside(const std::string& place, const WrongTypeError& error, StrictReading& reading);
    bool empty() const noexcept { return all_.empty(); }
    /// Throws them as one WrongTypeError, if there are any.
    void raise() const;

private:
    std::vector<std::string> all_;
    std::size_t more_ = 0;  // left out
};

/// A name as errors show it; one that is very long is cut.
std::string quoted(std::string_view name);

}  // namespace stategraph::detail
