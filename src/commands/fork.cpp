#include <stategraph/fork.hpp>

#include <stategraph/error.hpp>

#include "src/commands/forked.hpp"
#include "src/commands/store.hpp"
#include "src/threads/thread_claim.hpp"

// fork: stores a copy of a checkpoint without a run.
namespace stategraph {

Config fork(BaseCheckpointSaver& saver, const Config& config, const ForkOptions& options) {
    commands::checkConfig(config, "fork");
    try {
        engine::ThreadClaim claim;
        claim.acquire(saver, config.thread_id.view(), options.on_busy, options.busy_timeout);
        const LogName log{config.thread_id.view(), ""};
        const checkpoint::Folded from = commands::readForked(saver, log, config.checkpoint_id, "fork");
        const CheckpointId id = commands::forkId(from, options);
        commands::putFork(saver, log, from, id, options);
        return {.thread_id = config.thread_id, .checkpoint_id = id, .checkpoint_ns = {}};
    } catch (Error& error) {
        error.addContext({.thread_id = config.thread_id.toString()});
        throw;
    }
}

}  // namespace stategraph
