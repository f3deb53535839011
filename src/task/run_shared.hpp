#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/abandoned.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/saver.hpp>

#include "src/step/travel.hpp"
#include "src/task/effects.hpp"
#include "src/task/gates.hpp"
#include "src/threads/refusal.hpp"
#include "src/threads/run_stop.hpp"
#include "src/threads/thread_claim.hpp"

namespace stategraph::engine {

class Events;

/// What the caller of a root's run checks, and gets to know if it fails.
struct RunCheck {
    std::function<void()> check;  // called when the run has read its thread; may throw
    CheckpointId reached = {};    // if it fails: the newest checkpoint that it knew of the root's log
};

/// What a run shares with the runs inside it.
struct RunShared {
    const RunConfig* config;
    BaseCheckpointSaver* saver;
    Executor* executor;
    std::size_t concurrency;
    Events* events;
    std::string metadata;              // a CBOR map, or empty
    detail::Mutex answers_mutex = {};  // guards the answers in tasks' records
    // The answers given to this run.
    std::vector<std::pair<TaskId, std::uint64_t>> new_answers SG_GUARDED_BY(answers_mutex) = {};
    std::atomic<std::uint64_t> run_bits =
        0;  // distinguishes this run from others if nothing is stored; created when it is needed
    Effects effects = {};
    Gates gates = {};
    ThreadClaim claim = {};
    Refusal refusal = {};
    std::shared_ptr<RunStop> stop = {};  // null if nothing can stop the run
    /// Returns what ends the run while it waits for its thread.
    ClaimStop claimStop() const { return stop != nullptr ? ClaimStop{stop->token(), stop->deadline()} : ClaimStop(); }
    std::atomic<bool> was_cut = false;  // whether a stop has ended a task of the run, or of a graph inside
    // How a task has asked that the run end before its next superstep; `done`: none has. The first counts.
    std::atomic<Status> asked_end = Status::done;
    // For a run that begins inside a subgraph: one for each graph, the root's first.
    std::vector<TravelStop> stops = {};
    std::vector<detail::AbandonedTask> abandoned = {};  // what the input of the root's run has left unfinished
    RunCheck* check = nullptr;                          // null if the caller of the root's run has nothing to check
    // Whether only its beginning is stored, for another run to continue; then nothing is reported.
    bool is_submission = false;
};

}  // namespace stategraph::engine
