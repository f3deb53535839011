#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tests/workflow_conformance/json.hpp"

namespace workflow_conformance {

/// What outlives the processes of a scenario: its workflow, and how often its steps failed or crashed. Safe to use from
/// any thread.
class World {
public:
    explicit World(json::object workflow) : workflow_(std::move(workflow)) {}

    const json::object& workflow() const noexcept { return workflow_; }
    /// Counts a call, and returns whether it is one of the first `times` with the key.
    bool isOneOf(const std::string& key, std::int64_t times);

private:
    const json::object workflow_;
    std::mutex mutex_;
    std::map<std::string, std::int64_t> counts_;
};

/// Thrown by a step whose process ends. Permanent, so that it is not retried.
class CrashError : public flow::PermanentError {
public:
    CrashError() : PermanentError("the process has ended") {}
};

/// What ends with a crash: afterwards nothing is recorded here, and a MortalSaver stores nothing. Safe to use from any
/// thread.
class Process {
public:
    explicit Process(std::shared_ptr<World> world) : world_(std::move(world)) {}

    World& world() noexcept { return *world_; }
    bool crashed() const;
    [[noreturn]] void crash();
    /// Errors: CrashError.
    void requireAlive() const;

    /// Records a call of a step's function. Errors: CrashError.
    void executed(json::object call);
    void told(json::array event);
    /// Returns what was recorded since the last call.
    json::array takeExecuted();
    json::array takeEvents();

private:
    const std::shared_ptr<World> world_;
    mutable std::mutex mutex_;
    bool crashed_ = false;
    json::array executed_;
    json::array events_;
};

}  // namespace workflow_conformance
