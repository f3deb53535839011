#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/executor.hpp>
#include <stategraph/saver.hpp>

#include "src/step/travel.hpp"
#include "src/task/effects.hpp"
#include "src/threads/run_stop.hpp"
#include "src/threads/thread_claim.hpp"

namespace stategraph::engine {

class Events;

/// What a run and the runs inside it share.
struct RunShared {
    const RunConfig* config;
    BaseCheckpointSaver* saver;
    Executor* executor;
    std::size_t concurrency;
    Events* events;
    std::string metadata;              // a CBOR map, or empty
    detail::Mutex answers_mutex = {};  // over the answers in tasks' records
    std::vector<std::pair<TaskId, std::uint64_t>> new_answers SG_GUARDED_BY(answers_mutex) = {};  // given to this run
    std::atomic<std::uint64_t> run_bits =
        0;  // distinguishes this run from others if nothing is stored; created when it is needed
    Effects effects = {};
    ThreadClaim claim = {};
    std::shared_ptr<RunStop> stop = {};  // null: nothing can stop the run
    std::vector<TravelStop> stops = {};  // of a run that begins inside a subgraph: each graph's, the root's first
    bool is_inside_flight = false;       // it was begun by a node that others may wait for
    bool is_submission = false;          // only its beginning is stored, and another run continues: nothing is reported
};

}  // namespace stategraph::engine
