#pragma once
#include <chrono>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>

namespace patience {

/// Waits until `condition()` holds: for what another thread or process does, and tells nobody. What must come has five
/// minutes, because a busy machine may pause any thread for seconds. Returns false after that time.
template <class Condition>
bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

/// The same. Errors: std::runtime_error with the place of the call, after that time.
template <class Condition>
void until(Condition condition, std::source_location where = std::source_location::current()) {
    if (eventually(condition)) return;
    throw std::runtime_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                             ": what the test waits for did not happen within five minutes");
}

}  // namespace patience
