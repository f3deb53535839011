#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/config.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/saver.hpp>

#include "inspect/condition.hpp"

// Finds the first checkpoint of a branch at which a condition over the state holds.
namespace stategraph::inspect {

struct FirstStep {
    std::string checkpoint_id;
    std::int64_t step = 0;
    std::string source;
    std::string created_at;
    /// The tasks of the superstep that made it; empty for an input, an edit or a fork.
    std::vector<std::string> ran;
    /// The values of the paths of the condition at this checkpoint, and at the one before it, if there is one.
    std::map<std::string, Value> values;
    std::map<std::string, Value> before;
    static constexpr auto fields() {
        return stategraph::fields(field("checkpoint_id", &FirstStep::checkpoint_id), field("step", &FirstStep::step),
                                  field("source", &FirstStep::source), field("created_at", &FirstStep::created_at),
                                  field("ran", &FirstStep::ran), field("values", &FirstStep::values),
                                  field("before", &FirstStep::before));
    }
};

struct FirstStepSearch {
    std::optional<FirstStep> found;
    /// How many checkpoints were looked at, and whether older ones of the branch were not.
    std::uint64_t looked_at = 0;
    bool is_cut = false;
    /// Where the search continues, if it ended because it has read as many checkpoints, or bytes of states, as it may.
    std::optional<std::string> more = {};
    static constexpr auto fields() {
        return stategraph::fields(field("found", &FirstStepSearch::found),
                                  field("looked_at", &FirstStepSearch::looked_at),
                                  field("is_cut", &FirstStepSearch::is_cut), field("more", &FirstStepSearch::more));
    }
};

/// The most checkpoints of a branch that can be looked at.
inline constexpr std::size_t first_step_limit_max = 100'000;

/// What a search may read.
struct FirstStepLimits {
    std::size_t checkpoints = 10'000;     // of the branch, the newest
    std::size_t entries = SIZE_MAX;       // of the log, among which those of the branch are found
    std::size_t states_bytes = SIZE_MAX;  // of the states; one state may exceed it
    std::size_t reads = SIZE_MAX;         // checkpoints, at least 1
};

/// Looks at the newest checkpoints of the branch that leads to `newest`, beginning with the oldest of them, or with
/// `from` (FirstStepSearch::more). Errors: InvalidArgumentError if `from` is not among them; those of readCheckpoint.
/// Cost: reading the checkpoints one by one up to the one that is found, and a page of the log for each 500 of its
/// entries.
FirstStepSearch findFirstStep(BaseCheckpointSaver& saver, const Config& newest, const Condition& condition,
                              const FirstStepLimits& limits, CheckpointId from = {});

}  // namespace stategraph::inspect
