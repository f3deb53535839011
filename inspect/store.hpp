#pragma once
#include <memory>
#include <string>
#include <vector>

#include <stategraph/inspect/command.hpp>
#include <stategraph/timeline.hpp>

#include "inspect/arguments.hpp"

// Finds the store, the thread and the checkpoint that the arguments name.
namespace stategraph::inspect {

/// Thrown if what was requested does not exist. The text says what.
struct NotFound {
    std::string text;
};

/// Returns the store of --store, or of --app, or of the options.
std::string storeName(const Arguments& arguments, const CommandOptions& options);
/// Opens it. With `follows`, reads see what another process writes meanwhile; without it, everything is as it was at
/// opening. Errors: SaverError, CorruptCheckpointError.
std::shared_ptr<BaseCheckpointSaver> openStore(const Arguments& arguments, const CommandOptions& options,
                                               bool for_writing, bool follows = false);

/// Returns the namespaces of a thread's logs. Errors: NotFound if there is no such thread.
std::vector<std::string> logsOf(BaseCheckpointSaver& saver, const std::string& thread_id);

/// Finds "THREAD", "THREAD@7" (the newest checkpoint of that step), "THREAD@ID", or "THREAD@~2" (two before the newest
/// on its branch). An '@' followed by anything else is a part of the thread's name. Errors: NotFound.
Config findPlace(BaseCheckpointSaver& saver, const Arguments& arguments, const std::string& place);
/// Does the same if a checkpoint must exist: its id is filled in.
Config findCheckpoint(BaseCheckpointSaver& saver, const Arguments& arguments, const std::string& place);

}  // namespace stategraph::inspect
