#pragma once
#include <memory>
#include <string>

#include <stategraph/inspect/command.hpp>
#include <stategraph/timeline.hpp>

#include "inspect/arguments.hpp"

// From the arguments to a store, a thread and a checkpoint.
namespace stategraph::inspect {

/// What was asked for is not there: the text says what.
struct NotFound {
    std::string text;
};

/// The store of --store, or of the options.
std::string storeName(const Arguments& arguments, const CommandOptions& options);
/// Opens it. `follows`: what is read stays true while another process writes; else all is as it was when it was opened.
/// Errors: SaverError, CorruptCheckpointError.
std::shared_ptr<BaseCheckpointSaver> openStore(const Arguments& arguments, const CommandOptions& options,
                                               bool for_writing, bool follows = false);

/// "THREAD", "THREAD@7" (the newest checkpoint of that step), "THREAD@ID", "THREAD@~2" (two before the newest on its
/// branch). An '@' followed by anything else is a part of the thread's name. Errors: NotFound.
Config findPlace(BaseCheckpointSaver& saver, const Arguments& arguments, const std::string& place);
/// The same where a checkpoint must be there: its id is filled in.
Config findCheckpoint(BaseCheckpointSaver& saver, const Arguments& arguments, const std::string& place);

}  // namespace stategraph::inspect
