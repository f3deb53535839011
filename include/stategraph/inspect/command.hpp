#pragma once
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>

#include <stategraph/saver.hpp>

// The command line of threads: what the program `stategraph` does. Your program can offer it too, for its own savers:
// an encrypted one, or one in memory in a test.
namespace stategraph::inspect {

/// The options of runCommand.
struct CommandOptions {
    /// Opens the store that `--store` names, for reading or also for writing. Null: opens a SQLite file or a PostgreSQL
    /// database, if the library was built with these, the address of a running program's inspector, or a RocksDB
    /// folder, which a command that writes can open only while no other process has it open.
    std::function<std::shared_ptr<BaseCheckpointSaver>(const std::string& store, bool for_writing)> open = {};
    /// The default of `--store`; empty: the folder `checkpoints`, or the current folder if it is a database.
    std::string store = {};
    /// The input of `import` if no file is given; null: standard input.
    std::istream* in = nullptr;
    /// Whether the output has colours for a terminal.
    bool colour = false;
    /// The number of columns to which lines are cut; 0: they are not cut.
    std::size_t columns = 0;
};

/// The exit code of a command.
enum class Exit : int {
    done = 0,
    /// The requested thing does not exist; for `diff`: there are differences; for `check`: something is damaged.
    no = 1,
    /// The arguments are wrong; the error says which.
    usage = 2,
    /// The store cannot be opened or read.
    failed = 3,
};

/// Runs a command, such as {"log", "thread-1", "--graph"}, without the program's name. Results go to `out`, errors to
/// `error`; it throws only what these streams throw. `{"help"}` lists the commands, which docs/command_line.md
/// explains. Commands that only read may be called while a program writes.
Exit runCommand(std::span<const std::string> arguments, std::ostream& out, std::ostream& error,
                const CommandOptions& options = {});

}  // namespace stategraph::inspect
