#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "tests/conformance/scenario.hpp"

namespace conformance {

/// What outlives an operation of a scenario: which nodes ran, and how often they failed. Safe from several threads.
class World {
public:
    void ran(const std::string& ns, std::string_view node, std::int64_t step, const json::value& input);
    /// What ran since the last call.
    json::array takeExecuted();

    /// Counts a call: whether it is one of the first `times` of the node.
    bool fails(const std::string& ns, std::string_view node, std::int64_t times);

private:
    std::mutex mutex_;
    json::array executed_;
    std::map<std::string, std::int64_t> failures_;
};

}  // namespace conformance
