#pragma once
#include <istream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <stategraph/inspect/command.hpp>

#include "inspect/arguments.hpp"
#include "inspect/store.hpp"
#include "inspect/terminal.hpp"

// The commands, one function each.
namespace stategraph::inspect {

/// The data that every command gets.
struct Call {
    const Arguments& arguments;
    BaseCheckpointSaver& saver;
    Terminal& terminal;
    std::istream& in;
    /// The same saver for commands that keep it, and the name with which it was opened.
    std::shared_ptr<BaseCheckpointSaver> shared_saver = {};
    std::string store = {};

    bool asJson() const noexcept { return arguments.has("--json"); }
    const std::string& place(std::size_t i) const { return arguments.places().at(i); }
};

struct Command {
    std::string_view name;
    /// The arguments in the form that help shows.
    std::string_view arguments;
    std::string_view text;
    Accepts accepts;
    Exit (*run)(Call& call);
    bool writes = false;
    /// Whether the command sees what a writing process adds while it runs.
    bool follows = false;
};

/// Returns all commands in the order in which help lists them.
std::span<const Command> commands();

Exit listThreads(Call& call);
Exit showLog(Call& call);
Exit showChart(Call& call);
Exit showCheckpoint(Call& call);
Exit showDifference(Call& call);
Exit showCauses(Call& call);
Exit showWriters(Call& call);
Exit showGraph(Call& call);
Exit showStats(Call& call);
Exit checkStore(Call& call);
Exit checkGraph(Call& call, const std::string& file);
/// `address` is that of the program's inspector.
Exit checkApp(Call& call, const std::string& address);
Exit findStep(Call& call);
Exit answerQuestion(Call& call);
Exit forkThread(Call& call);
Exit editThread(Call& call);
Exit editRawThread(Call& call, const std::map<std::string, Value>& values);
Exit runThread(Call& call);
Exit exportRows(Call& call);
/// `export --trace`: writes a thread as events of a trace.
Exit exportTrace(Call& call);
Exit importRows(Call& call);
Exit pruneThreads(Call& call);
Exit removeThread(Call& call);
Exit serveStore(Call& call);
Exit showQueue(Call& call);

}  // namespace stategraph::inspect
