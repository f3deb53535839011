#pragma once
#include <string>
#include <vector>

#include <stategraph/ids.hpp>

// A log with branches as text: one lane a branch.
namespace stategraph::inspect {

/// Takes the checkpoints of a log one after the other, newest first, and draws each next to those above it. A mark, the
/// lanes that pass by, and a line of its own where branches meet at the checkpoint that they began from.
class Lanes {
public:
    /// The lines to draw above the checkpoint's own ("|/" where a branch ends in it), and its own prefix, such as
    /// "| * ".
    struct Drawn {
        std::vector<std::string> above;
        std::string prefix;
    };
    Drawn next(CheckpointId id, CheckpointId parent);

private:
    std::vector<CheckpointId> waiting_;  // of each lane, the checkpoint that comes next in it
};

}  // namespace stategraph::inspect
