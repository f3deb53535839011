#pragma once
#include <atomic>
#include <string>

#include "tests/fault/kill/graph.hpp"
#include "tests/support/drivers.hpp"

namespace fault {

inline constexpr const char* thread_id = "thread";

struct DriveOptions {
    sg::Durability durability = sg::Durability::async;
    /// The number of inputs, which are given one after the other.
    int rounds = 3;
    /// Whether runs are read as ranges instead of with a callback.
    bool walks = false;
    /// Whether events of subgraphs are requested too; then tasks run on another thread than the reader's.
    bool live = false;
    /// If set, drives runs in this way; then only their ends are acknowledged.
    const drivers::Driver* driver = nullptr;
    /// Reads no further when this becomes true. Needs `walks`.
    const std::atomic<bool>* stop = nullptr;
};

/// Brings the thread from wherever it is to its end: answers the questions that are open, one at a time, resumes what
/// is due, and if nothing is due gives the next input. True when all rounds are done, false when it was stopped.
///
/// Notes in the journal what the library has acknowledged, when it has:
///   input, answer   when the run's first event arrives, which is what a caller learns first: by then the run has begun, and begun
///                   means stored, except with Durability::exit (docs/semantics.md: "The input is with the saver before the first
///                   node runs, except with exit"; "Answers are stored before anything runs on them")
///   run             when the call returned: its config names a checkpoint that is stored, with every durability
bool drive(const App& app, Journal& journal, const DriveOptions& options);

}  // namespace fault
