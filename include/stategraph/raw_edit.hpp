#pragma once
#include <map>
#include <memory>
#include <string>

#include <stategraph/config.hpp>
#include <stategraph/detail/chrono.hpp>
#include <stategraph/id_source.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// How a raw edit is checked and stored.
struct RawEditOptions {
    /// Accept values of another kind than the stored ones, such as a text where a number is stored.
    bool any_kind = false;
    /// Added to the metadata that the edited checkpoint has, such as {{"by", "Ada"}}; an existing key gets the new
    /// value. "raw_edit", the list of edited channels, and "raw_edit_at", the time, are always added.
    Metadata metadata = {};
    /// When the edit reaches the disk, as for a run; `exit` means `async` here.
    Durability durability = Durability::async;
    /// What to do if a run of this process, through the same saver object, is under way on the thread.
    OnBusy on_busy = OnBusy::reject;
    /// How long to wait for that run; then ThreadBusyError.
    std::chrono::milliseconds busy_timeout = std::chrono::minutes(1);
    /// The source of the new id; null: the system's clock and random bits.
    std::shared_ptr<IdSource> ids = {};
};

/// Forks a checkpoint of a thread (`config.checkpoint_id`; none: the newest) with other values in some channels, and
/// runs nothing: a program without the graph can mend a state. The values replace what the channels hold, past their
/// reducers, in the form in which the log has them. The result is a fork in every other respect (fork.hpp): the same
/// tasks are due, without results; `recover()` leaves it alone unless RecoverOptions::edited is set; a fork of the
/// checkpoint before undoes it. Returns the new checkpoint's config.
///
/// Only the program knows the types of channels. What the log shows is checked: a value must be of the kind that is
/// stored, down to the members and elements that both have, where null is accepted inside. A value of another type that
/// passes is found by the program that resumes the thread (CorruptCheckpointError); it is then undone by a fork.
///
/// Errors: InvalidArgumentError for no values, for a value of another kind, for a channel that neither the checkpoint
/// nor the stored description of its graph has or that is not stored, for a thread in flight (fork it first, if its
/// process died), and as `fork`; ThreadBusyError; ConcurrentUpdateError, and nothing is stored, if another writer was
/// first; CorruptCheckpointError for records that cannot be read, also sealed ones, and for a checkpoint that later
/// versions wrote; SaverError. A lease that a worker has on the thread is not seen here; its next commit is then
/// refused. Safe from any thread. Cost: as `fork`, a read of the newest checkpoint, and the values.
Config editRaw(BaseCheckpointSaver& saver, const Config& config, const std::map<std::string, Value>& values,
               const RawEditOptions& options = {});

}  // namespace stategraph
