#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/fold.hpp"
#include "src/step/travel.hpp"

namespace stategraph::engine {

/// How the runs inside the tasks of a superstep begin.
struct InnerStart {
    /// They begin at the newest checkpoint of their log, if there is one.
    bool resuming = false;
    /// The outer run went back in time: they begin with a new state, or where their log was then, which is before
    /// `bound`.
    bool replaying = false;
    CheckpointId bound = {};
};

/// What a run begins from. `Run::start` creates it, and it exists until the first superstep has ended: while it exists,
/// the current superstep is the first.
struct Start {
    enum class Kind : std::uint8_t {
        input,    // with new input; what was due is dropped
        command,  // with what a Command says, in a superstep of its own
        resume,   // with the superstep that waits, whose finished tasks stay finished
        rerun,    // with the superstep of a checkpoint that the config names; all its tasks run again
        travel,   // the same, but the thread has moved on since, or an edit made it: what was answered is asked again
    };

    Start() noexcept {}  // not defaulted, because the object is large and all of it would be set to zero first
    Start(const Start&) = delete;
    Start& operator=(const Start&) = delete;

    Kind kind = Kind::input;
    // The checkpoint at which it begins; null means the config's, or the newest of its log.
    const TravelStop* stop = nullptr;
    std::optional<checkpoint::Folded> from = {};  // the stored checkpoint; none if there is none
    checkpoint::Records records = {};             // the records of its tasks; they refer to `from` and `answers`
    std::list<Value> answers = {};                // the answers that were given to this run
    InnerStart inside = {};                       // for the runs inside the first superstep
    bool abandons = false;                        // whether the input has left tasks unfinished
    bool is_behind_gates = false;                 // whether breakpoints before the first superstep do not stop it
    // What an awaited run has read before, in place of its first read.
    std::optional<std::optional<CheckpointTuple>> ahead = {};
    // The rows of that checkpoint that this run has stored before its first superstep.
    std::map<std::string, std::string, std::less<>> written = {};

    /// Returns whether all tasks of the first superstep run, even those with stored results.
    bool reruns() const noexcept { return kind == Kind::rerun || kind == Kind::travel; }
    bool travels() const noexcept { return kind == Kind::travel; }
    /// Returns whether it resumes where a run stopped or was stopped.
    bool goesOn() const noexcept { return kind != Kind::input; }
    /// Returns the row of this path as the log holds it now, as far as this run knows; empty: there is none.
    std::string stored(std::string_view path) const;
    /// Returns whether it begins at a checkpoint of another log than its own.
    bool isElsewhere(std::string_view ns) const noexcept { return stop != nullptr && stop->ns != ns; }
};

}  // namespace stategraph::engine
