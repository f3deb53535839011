#pragma once
#include <string>

#include "checkpoint/fold.hpp"
#include "src/commit/log_writer.hpp"
#include "src/graph/warm_cache.hpp"
#include "src/superstep/apply.hpp"

namespace stategraph::engine {

/// A thread at its newest checkpoint, where nothing is due: what reading it would give.
struct WarmThread final : KeptThread {
    explicit WarmThread(const State& of) : state(of) {}

    CheckpointId id;
    std::string checksum;  // the beginning of the checkpoint's record
    State state;
    checkpoint::FoldedRan::Kind ran = checkpoint::FoldedRan::Kind::nobody;
    std::string ran_node;  // as it is stored
    LogWriter::Account account;
};

}  // namespace stategraph::engine
