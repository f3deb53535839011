#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

// Checks data from outside while it is read, with the same codecs and a decoder that reads strictly.
namespace stategraph::detail {

/// One strict reading.
struct StrictReading {
    int exceptions = 0;    // exceptions that were under way before it
    std::string trail;     // where in lists and maps the current error was thrown, such as "item 2: "
    std::string_view tag;  // the member that the next table leaves to a variant
    bool in_key = false;   // a number may be written as text
};

/// Collects what is wrong with a value. Each fault has its path.
class Faults {
public:
    void add(std::string fault);
    /// Adds the faults of an error that was thrown inside.
    void addInside(const std::string& place, const WrongTypeError& error, StrictReading& reading);
    bool empty() const noexcept { return all_.empty(); }
    /// Throws them as one WrongTypeError, if there are any.
    void raise() const;

private:
    std::vector<std::string> all_;
    std::size_t more_ = 0;  // the number of faults that were left out
};

/// Returns a name as errors show it. A very long name is cut.
std::string inQuotes(std::string_view name);

}  // namespace stategraph::detail
