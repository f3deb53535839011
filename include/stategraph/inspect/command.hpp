#pragma once
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>

#include <stategraph/saver.hpp>

// The command line of threads: what the program `stategraph` does. A program of yours can have it too, over its own
// savers: an encrypted one, or one in memory in a test.
namespace stategraph::inspect {

struct CommandOptions {
    /// Opens what `--store` names, for reading or for writing too; null: a file of SQLite's or a database of
    /// PostgreSQL's, where the library was built with these, or a folder of RocksDB's, which a command that writes can
    /// open only while no other process has it open.
    std::function<std::shared_ptr<BaseCheckpointSaver>(const std::string& store, bool for_writing)> open = {};
    /// What `--store` is without that option; empty: the folder `checkpoints`, or this one if it is a database.
    std::string store = {};
    /// What `import` reads if it is given no file; null: standard input.
    std::istream* in = nullptr;
    /// Colours for a terminal.
    bool colour = false;
    /// Lines are cut to so many columns; 0: they are not.
    std::size_t columns = 0;
};

/// How a command ended, as a process says it.
enum class Exit : int {
    done = 0,
    /// The requested thing does not exist; `diff`: there are differences; `check`: something is damaged.
    no = 1,
    /// The arguments are none that it understands; the error says which.
    usage = 2,
    /// The store cannot be opened or read.
    failed = 3,
};

/// Runs a command, such as {"log", "thread-1", "--graph"}, without the program's name. What it found goes to `out`,
/// errors go to `error`; it throws nothing but what these streams throw. `{"help"}` lists the commands, which
/// docs/command_line.md explains. Commands that only read may be called while a program writes.
Exit runCommand(std::span<const std::string> arguments, std::ostream& out, std::ostream& error,
                const CommandOptions& options = {});

}  // namespace stategraph::inspect
