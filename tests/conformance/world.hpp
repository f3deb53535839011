#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <stategraph/ids.hpp>
#include <stategraph/run_control.hpp>

#include "tests/conformance/scenario.hpp"

namespace conformance {

/// Limits what a scenario may do; 0 means no limit. A node that exceeds a limit fails.
struct Limits {
    std::size_t executions_max = 0;
    /// Limits a node's input: its values and characters.
    std::size_t input_size_max = 0;
};

/// Remembers what outlives an operation of a scenario: which nodes ran, how often they failed, and what was asked. Safe
/// from several threads while an operation is under way.
class World {
public:
    /// `drains`: whether a node may ask for a drain. Only then runs can be stopped, as such runs call nodes otherwise.
    explicit World(const Limits& limits = {}, bool drains = false) : limits_(limits), drains_(drains) {}

    void beginOperation() { control_ = drains_ ? std::make_shared<stategraph::RunControl>() : nullptr; }
    /// Returns that of the current operation's run, or null.
    std::shared_ptr<stategraph::RunControl> control() const { return control_; }
    void drain(const std::string& reason) const { control_->requestDrain(reason); }

    /// Notes under which id a thread asks a question.
    void asked(const std::string& thread, const json::value& question, stategraph::TaskId id);
    /// Returns the id under which the thread asked the question last, or an id that is nobody's.
    stategraph::TaskId idOf(const std::string& thread, const json::value& question) const;

    /// Throws std::length_error.
    void ran(const std::string& ns, std::string_view node, std::int64_t step, const json::value& input);
    /// Returns what ran since the last call.
    json::array takeExecuted();

    /// Counts a call. Returns whether it is one of the first `times` of the node.
    bool fails(const std::string& ns, std::string_view node, std::int64_t times);

private:
    const Limits limits_;
    const bool drains_;
    std::shared_ptr<stategraph::RunControl> control_;
    std::map<std::pair<std::string, std::string>, stategraph::TaskId> asked_;  // by thread and question
    std::mutex mutex_;
    std::size_t executions_ = 0;
    json::array executed_;
    std::map<std::string, std::int64_t> failures_;
};

}  // namespace conformance
