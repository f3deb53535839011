#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/config.hpp>

// Parses the arguments of a command.
namespace stategraph::inspect {

/// Thrown if the arguments are wrong. The text says what to write.
struct UsageError {
    std::string text;
};

/// The word of `known` that `wrong` was probably meant to be, as "did you mean 'x'? "; or an empty text.
std::string adviceOn(std::string_view wrong, std::vector<std::string_view> known);

/// The options of a command in addition to --store and --json, which all commands have.
struct Accepts {
    std::size_t places_min = 0;
    std::size_t places_max = 0;
    std::vector<std::string_view> flags = {};
    std::vector<std::string_view> values = {};
    /// Whether the first place names the database, as --store does.
    bool place_is_store = false;
};

class Arguments {
public:
    /// Errors: UsageError for an option that is not accepted, which names the one that was probably meant, for one
    /// without its value, and for too few or too many places. `command` is the name that errors refer to.
    Arguments(std::span<const std::string> words, const Accepts& accepts, std::string_view command);

    const std::vector<std::string>& places() const noexcept { return places_; }
    bool has(std::string_view flag) const noexcept { return given_.contains(flag); }
    /// Returns the option's value; of an option that is given several times the last one.
    std::optional<std::string> value(std::string_view option) const;
    /// Returns the values of an option that may be given several times.
    std::vector<std::string> values(std::string_view option) const;
    /// Returns the option's number. Errors: UsageError if it is not a number, or less than `least`.
    std::size_t number(std::string_view option, std::size_t otherwise, std::size_t least) const;
    /// Returns the duration for text such as "90s", "15m", "1h" or "2d". Errors: UsageError.
    std::optional<std::chrono::seconds> age(std::string_view option) const;

private:
    std::vector<std::string> places_;
    std::map<std::string, std::vector<std::string>, std::less<>> given_;
};

}  // namespace stategraph::inspect
