#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <string_view>

#include <stategraph/value.hpp>

#include "checkpoint/due_tasks.hpp"
#include "checkpoint/fold.hpp"
#include "src/step/travel.hpp"

namespace stategraph::engine {

/// How the runs inside a superstep's tasks begin.
struct InnerStart {
    /// From their log's newest checkpoint, if there is one.
    bool resuming = false;
    /// The run around them went back in time: they begin with a new state, or where their log was then, which is before
    /// `bound`.
    bool replaying = false;
    CheckpointId bound = {};
};

/// What a run begins from. `Run::begin` creates it, and it exists until the first superstep has ended: while it exists,
/// the current superstep is the first.
struct Start {
    enum class Kind : std::uint8_t {
        input,    // with new input; what was due is dropped
        command,  // with what a Command says, in a superstep of its own
        resume,   // with the superstep that waits, whose finished tasks stay finished
        rerun,    // with that of a checkpoint which the config names: all its tasks run again
        travel,   // the same, and the thread has moved on since: what was answered there is asked again
    };

    Start() noexcept {}  // not defaulted: all of it would be set to zero first, and it is large
    Start(const Start&) = delete;
    Start& operator=(const Start&) = delete;

    Kind kind = Kind::input;
    const TravelStop* stop = nullptr;  // the checkpoint that it begins at; null: the config's, or its log's newest
    std::optional<checkpoint::Folded> from = {};  // the stored checkpoint; none: there is none
    checkpoint::Records records = {};             // those of its tasks; they refer to `from` and `answers`
    std::list<Value> answers = {};                // given to this run
    InnerStart inside = {};                       // of the runs inside the first superstep

    /// Whether all tasks of the first superstep run, even those with stored results.
    bool reruns() const noexcept { return kind == Kind::rerun || kind == Kind::travel; }
    bool travels() const noexcept { return kind == Kind::travel; }
    /// Whether it resumes where a run stopped or was stopped: then a breakpoint before the first superstep does not
    /// stop it again.
    bool goesOn() const noexcept { return kind != Kind::input; }
    /// Whether it begins at a checkpoint of another log than its own.
    bool isElsewhere(std::string_view ns) const noexcept { return stop != nullptr && stop->ns != ns; }
};

}  // namespace stategraph::engine
