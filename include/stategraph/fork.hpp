#pragma once
#include <memory>
#include <stategraph/detail/chrono.hpp>

#include <stategraph/config.hpp>
#include <stategraph/id_source.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// How a fork is stored.
struct ForkOptions {
    /// Added to the metadata that the copied checkpoint has, such as {{"by", "Ada"}, {"what", "try again"}}; an
    /// existing key gets the new value.
    Metadata metadata = {};
    /// When the fork reaches the disk, as for a run; `exit` means `async` here.
    Durability durability = Durability::async;
    /// What to do if a run of this process, through the same saver object, is under way on the thread.
    OnBusy on_busy = OnBusy::reject;
    /// How long to wait for that run; then ThreadBusyError.
    std::chrono::milliseconds busy_timeout = std::chrono::minutes(1);
    /// The source of the new id; null: the system's clock and random bits.
    std::shared_ptr<IdSource> ids = {};
};

/// Copies a checkpoint of a thread (`config.checkpoint_id`; none: the newest) as its new head, with source `fork`, and
/// runs nothing: a program without the graph can go back in time. The new checkpoint follows the copied one, has its
/// state and the tasks that are due there, without results of tasks: RESUME by the program that has the graph runs all
/// of them, and their questions are asked again. It is the first commit of a run that resumes from
/// `config.checkpoint_id`.
///
/// A fork is marked as an edit is (Status::edited), so `recover()` does not run it unless RecoverOptions::edited is
/// set. It revives a cancelled thread. Returns the new checkpoint's config.
///
/// Errors: InvalidArgumentError for an unknown thread or checkpoint, a subgraph's log (`checkpoint_ns`), or metadata
/// with a key that is taken; ThreadBusyError; ConcurrentUpdateError, and nothing is stored, if another writer was first
/// or the checkpoint was pruned meanwhile; CorruptCheckpointError for records that cannot be read; SaverError. Safe
/// from any thread. Cost: one read of the checkpoint and one put, of the whole state only where reading it has become
/// expensive.
Config fork(BaseCheckpointSaver& saver, const Config& config, const ForkOptions& options = {});

}  // namespace stategraph
