#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/saver.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/commit/log_writer.hpp"
#include "src/graph/core.hpp"
#include "src/graph/warm_cache.hpp"
#include "src/superstep/apply.hpp"

namespace stategraph::engine {

/// A thread at its newest checkpoint, with nothing due, as reading it from the log would give it.
struct WarmThread final : KeptThread {
    explicit WarmThread(const State& of) : state(of) {}

    /// Returns its size: that of the state in the log, plus a fixed amount for each thread.
    static std::size_t bytesOf(const LogWriter::Account& account) noexcept {
        const std::size_t channels = account.channel_bytes.size() * sizeof(std::size_t) + account.channel_set.size();
        return account.state_bytes + channels + sizeof(WarmThread) + 256;
    }

    CheckpointId id;
    std::string checksum;  // the beginning of the checkpoint's record
    State state;
    checkpoint::FoldedRan::Kind ran = checkpoint::FoldedRan::Kind::nobody;
    std::string ran_node;  // its stored name
    LogWriter::Account account;
};

/// Returns the thread's newest checkpoint without its channels, if the kept state belongs to that checkpoint. Returns
/// none if the thread has changed or has to be read. Cost: reads one or two rows. Errors: those of the saver.
std::optional<checkpoint::Folded> findWarmHead(BaseCheckpointSaver& saver, const detail::Core& core,
                                               std::string_view thread_id, const WarmThread& warm);

}  // namespace stategraph::engine
