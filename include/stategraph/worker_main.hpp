#pragma once
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include <stategraph/leased_saver.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/worker.hpp>

// A worker as a program with options: `main` of a program that only runs graphs. Link `stategraph::worker`.
namespace stategraph {

/// The options of workerMain. What the command line says comes before them.
struct WorkerMainOptions {
    /// The defaults of the worker's options. Its `on_error` and `on_left` are called as well as what the program
    /// prints.
    WorkerOptions worker = {};
    /// The defaults of the saver's options. `connections_max` is at least the number of slots.
    PostgresSaverOptions saver = {};
    /// The environment variable that names the database where `--database` does not.
    std::string database_variable = "DATABASE_URL";
    /// Where metrics and the help go; null: standard output.
    std::ostream* out = nullptr;
    /// Where errors go; null: standard error.
    std::ostream* error = nullptr;
};

/// Adds a program's graphs to its worker. They are compiled with `saver`, or with one around it.
using AddGraphs = std::function<void(Worker& worker, const std::shared_ptr<LeasedSaver>& saver)>;

/// Runs a worker until SIGTERM or SIGINT, and returns the program's exit code: 0 after such a signal, 2 if the
/// arguments are wrong, 3 if the worker could not run; the reason is printed. `--help` lists the options.
///
/// The first signal drains: runs end after their superstep and their threads are given back. A second one ends the
/// process at once, and other workers take its threads when the leases run out. With `--metrics` a line of JSON with
/// the worker's metrics is printed after each such time, and one at the end. Threads that failed, and errors of the
/// queue, are printed as they come.
///
/// Call it from `main` before the program starts threads: until it returns it blocks both signals for the calling
/// thread, and threads that are started meanwhile inherit that. An older thread would get a signal in its place.
///
///     int main(int argc, char** argv) {
///         return sg::workerMain(argc, argv, [](sg::Worker& worker, const auto& saver) {
///             worker.add("order", makeApp(saver));
///         });
///     }
int workerMain(int argc, const char* const* argv, const AddGraphs& addGraphs, const WorkerMainOptions& options = {});

}  // namespace stategraph
