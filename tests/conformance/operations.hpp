#pragma once
#include <memory>

#include <stategraph/saver.hpp>

#include "tests/conformance/scenario.hpp"
#include "tests/conformance/world.hpp"

namespace conformance {

struct Settings {
    std::shared_ptr<stategraph::BaseCheckpointSaver> saver;
    int concurrency = 1;
    /// Put before the names of threads.
    std::string threads_prefix = {};
    /// Whether runs are awaited instead of blocking.
    bool awaits = false;
    Limits limits = {};
};

/// Does what a scenario says, and fills in the result of each operation as "expect". It never looks at the recording.
json::object answer(const json::object& scenario, const Settings& settings);

}  // namespace conformance
