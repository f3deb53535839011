#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include <stategraph/worker_main.hpp>

namespace stategraph::workers {

/// What is wrong with the arguments, for the one who wrote them.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What the command line of a worker says.
struct Arguments {
    WorkerOptions worker;
    PostgresSaverOptions saver;
    std::string database;
    /// How often metrics are printed; none: not at all.
    std::optional<std::chrono::milliseconds> metrics = {};
    bool wants_help = false;
};

/// `words` are those after the program's name. Errors: UsageError. Whether the worker can have such options is for the
/// worker to say.
Arguments readArguments(std::span<const char* const> words, const WorkerMainOptions& defaults);

/// The options, one a line.
const char* argumentsHelp() noexcept;

}  // namespace stategraph::workers
