#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stategraph::langgraph {

/// A time zone of the system's tz database: a file of the format TZif (RFC 8536).
class TimeZone {
public:
    /// A zone by its name, such as "Europe/Berlin"; "UTC" needs no file. Errors: InvalidArgumentError if there is none
    /// of this name, or its file cannot be read.
    static TimeZone named(const std::string& name);
    /// A zone from the bytes of its file. Errors: InvalidArgumentError.
    static TimeZone parse(std::string_view bytes);

    /// How much later than UTC its clocks are at an instant.
    std::chrono::seconds offsetAt(std::chrono::sys_seconds at) const;
    /// The instants at which its clocks show a time: none in the gap when they are put forward, two when they repeat an
    /// hour, the earlier one first. It is right if clocks are changed once within two days.
    std::vector<std::chrono::sys_seconds> instantsOf(std::chrono::local_seconds shown) const;
    /// The instant at which the gap ends in which clocks never show a time.
    std::chrono::sys_seconds endOfGap(std::chrono::local_seconds shown) const;

private:
    /// When the clocks are changed in each year: "M3.2.0/2", "J60", "59".
    struct YearlyRule {
        enum class Kind : std::uint8_t { weekday, julian, day } kind = Kind::day;
        int month = 0;
        int week = 0;
        int day = 0;
        std::chrono::seconds time = std::chrono::hours(2);

        std::chrono::local_seconds in(std::chrono::year year) const;
    };
    /// What holds after the last change that the file names.
    struct Rules {
        std::chrono::seconds standard{0};
        std::chrono::seconds summer{0};
        std::optional<YearlyRule> begin = {};
        std::optional<YearlyRule> end = {};

        std::chrono::seconds offsetAt(std::chrono::sys_seconds at) const;
    };
    struct Change {
        std::chrono::sys_seconds at;
        std::chrono::seconds offset;
    };
    class RulesReader;
    class FileReader;

    std::chrono::seconds first_{0};  // before the first change
    std::vector<Change> changes_;
    std::optional<Rules> rules_;
};

}  // namespace stategraph::langgraph
