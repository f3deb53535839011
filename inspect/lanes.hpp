#pragma once
#include <string>
#include <vector>

#include <stategraph/ids.hpp>

// Draws a log with branches as text, with one lane for each branch.
namespace stategraph::inspect {

/// Takes the checkpoints of a log one after the other, newest first, and draws each next to the branches above it. It
/// draws a mark, the lanes that pass by, and a line of its own where branches meet at the checkpoint from which they
/// began.
class Lanes {
public:
    /// The lines above the checkpoint's own ("|/" where a branch ends in it), and the prefix of its own line, such as
    /// "| * ".
    struct Drawn {
        std::vector<std::string> above;
        std::string prefix;
    };
    Drawn next(CheckpointId id, CheckpointId parent);
    /// The lanes that pass by a line between two checkpoints, such as "| | ".
    std::string bars() const;

private:
    std::vector<CheckpointId> waiting_;  // for each lane, the checkpoint that comes next in it
};

}  // namespace stategraph::inspect
