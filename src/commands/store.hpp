#pragma once
#include <stategraph/config.hpp>
#include <stategraph/saver.hpp>

// What the commands that store something without running have in common.
namespace stategraph::commands {

/// Writes to a saver. Commands write nowhere else.
void store(BaseCheckpointSaver& saver, const PutRequest& request);

/// Throws InvalidArgumentError if the config names no thread, or if it names a subgraph's log, which `command` does not
/// accept.
void checkConfig(const Config& config, const char* command);

}  // namespace stategraph::commands
