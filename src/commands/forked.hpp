#pragma once
#include <map>
#include <string>

#include <stategraph/fork.hpp>

#include "src/checkpoint/fold.hpp"

// What fork and editRaw have in common.
namespace stategraph::commands {

/// New values of channels, each as one CBOR item.
using ChannelValues = std::map<std::string, std::string>;

/// Reads the checkpoint to copy. `command` is for errors. Errors: InvalidArgumentError if it does not exist, and those
/// of `fold`.
checkpoint::Folded readForked(BaseCheckpointSaver& saver, const LogName& log, CheckpointId wanted, const char* command);

/// Returns the id that a fork of this checkpoint gets.
CheckpointId forkId(const checkpoint::Folded& from, const ForkOptions& options);

/// Stores a copy of the checkpoint as the log's newest, in which channels have these values. `options.metadata` is
/// added. Errors: those of `fork`.
void putFork(BaseCheckpointSaver& saver, const LogName& log, const checkpoint::Folded& from, CheckpointId id,
             const ForkOptions& options, const ChannelValues& values = {});

}  // namespace stategraph::commands
