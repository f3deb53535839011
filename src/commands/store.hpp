#pragma once
#include <stategraph/config.hpp>
#include <stategraph/saver.hpp>

// What all commands that store and do not run do alike.
namespace stategraph::commands {

/// The one place where a command writes to a saver.
void store(BaseCheckpointSaver& saver, const PutRequest& request);

/// Throws InvalidArgumentError if the config names no thread, or a subgraph's log, which `command` does not take.
void checkConfig(const Config& config, const char* command);

}  // namespace stategraph::commands
