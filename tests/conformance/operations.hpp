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
    /// Runs are awaited instead of blocking.
    bool awaits = false;
    Limits limits = {};
};

/// Does what a scenario says, and fills each operation's "expect" with what came of it. Never looks at what was
/// recorded.
json::object answer(const json::object& scenario, const Settings& settings);

}  // namespace conformance
