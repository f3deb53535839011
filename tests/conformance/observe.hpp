#pragma once
#include <memory>
#include <vector>

#include <stategraph/json.hpp>

#include "tests/conformance/scenario.hpp"

// What a scenario may look at, in the JSON form that is compared.
namespace conformance {

namespace sg = stategraph;
using Snapshot = sg::StateSnapshot<sg::JsonState>;

/// Numbers the checkpoints of a thread's root namespace in the order in which they were created.
class Ordinals {
public:
    Ordinals(sg::BaseCheckpointSaver* saver, const std::string& thread);
    /// Throws std::out_of_range.
    sg::CheckpointId at(std::int64_t ordinal) const { return ids_.at(static_cast<std::size_t>(ordinal)); }
    /// Returns null for none.
    json::value of(sg::CheckpointId id) const;

private:
    std::vector<sg::CheckpointId> ids_;
};

json::object describe(const Snapshot& snapshot, const Ordinals& ordinals);
json::array values(const std::vector<sg::Interrupt>& interrupts);

/// Returns the kind of an exception, with a node's own message.
json::object describe(const std::exception& error);

/// Collects the events of a stream as chunks.
class Chunks {
public:
    explicit Chunks(bool subgraphs) : subgraphs_(subgraphs) {}
    void take(const sg::StreamEvent& event);
    /// Marks that the last chunk reported a breakpoint, at which nothing is asked.
    void markBreakpoint();
    json::array& chunks() { return chunks_; }

private:
    bool subgraphs_;
    json::array chunks_;
};

}  // namespace conformance
