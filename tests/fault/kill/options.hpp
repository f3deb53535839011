#pragma once
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <stategraph/config.hpp>

namespace fault {

/// Returns a number given on the command line. Throws std::invalid_argument if it is none.
template <class T>
T numberOf(const std::string& option, const std::string& text) {
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw std::invalid_argument(option + " must be a number, and is '" + text + "'");
    }
    return number;
}

inline const char* nameOf(stategraph::Durability durability) {
    switch (durability) {
        case stategraph::Durability::sync:
            return "sync";
        case stategraph::Durability::async:
            return "async";
        case stategraph::Durability::exit:
            return "exit";
    }
    return "?";
}

inline stategraph::Durability durabilityOf(const std::string& text) {
    using enum stategraph::Durability;
    for (const auto durability : {sync, async, exit}) {
        if (text == nameOf(durability)) return durability;
    }
    throw std::invalid_argument("durability is sync, async or exit, and not '" + text + "'");
}

}  // namespace fault
