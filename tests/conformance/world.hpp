#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "tests/conformance/scenario.hpp"

namespace conformance {

/// Limits what a scenario may do; 0 means no limit. A node that exceeds a limit fails.
struct Limits {
    std::size_t executions_max = 0;
    /// Limits a node's input: its values and characters.
    std::size_t input_size_max = 0;
};

/// Remembers what outlives an operation of a scenario: which nodes ran, and how often they failed. Safe from several
/// threads.
class World {
public:
    explicit World(const Limits& limits = {}) : limits_(limits) {}

    /// Throws std::length_error.
    void ran(const std::string& ns, std::string_view node, std::int64_t step, const json::value& input);
    /// Returns what ran since the last call.
    json::array takeExecuted();

    /// Counts a call. Returns whether it is one of the first `times` of the node.
    bool fails(const std::string& ns, std::string_view node, std::int64_t times);

private:
    const Limits limits_;
    std::mutex mutex_;
    std::size_t executions_ = 0;
    json::array executed_;
    std::map<std::string, std::int64_t> failures_;
};

}  // namespace conformance
