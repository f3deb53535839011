#pragma once
#include <memory>

#include <stategraph/agent/replay.hpp>
#include <stategraph/json.hpp>

#include "tests/books/agents.hpp"

// The conversation of a history as a test of its own.
namespace books {

/// The same model gives the same answers to the recorded inputs and results, and nothing is executed.
inline void judgeReplay(World& world, std::uint64_t seed, const agent::Agent& recorded) {
    const agent::Record record = agent::recordOf(recorded, {.thread_id = "t"});
    const auto aside = std::make_shared<World>();
    const agent::Replayed replayed = agent::replay(record, agentOptionsOf(seed, aside));
    for (const agent::Difference& each : replayed.differences) world.complain("a replay differs: " + sg::toJson(each));
    if (!replayed.is_complete) world.complain("a replay has not come to its end");
    for (const agent::RecordedCall& each : replayed.unrecorded)
        world.complain("a replay calls what is not recorded: " + each.tool + each.arguments.toJson());
    if (!aside->journal().empty()) world.complain("a replay has executed a tool");
}

}  // namespace books
