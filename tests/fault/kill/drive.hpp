#pragma once
#include <atomic>
#include <string>

#include "tests/fault/kill/graph.hpp"
#include "tests/support/drivers.hpp"

namespace fault {

inline constexpr const char* thread_id = "thread";

struct DriveOptions {
    sg::Durability durability = sg::Durability::async;
    /// Inputs to give, one after the other.
    int rounds = 3;
    /// Walk runs as ranges instead of being called back.
    bool walks = false;
    /// Ask for events of subgraphs too: tasks then run on another thread than the reader's.
    bool live = false;
    /// Drive runs this way instead; only their ends are acknowledged then.
    const drivers::Driver* driver = nullptr;
    /// Walk no further when this becomes true. Needs `walks`.
    const std::atomic<bool>* stop = nullptr;
};

/// Brings the thread from wherever it is to its end: answers the questions that are open, one at a time, goes on with
/// what is due, and when nothing is gives the next input. True when all rounds are done, false when it was stopped.
///
/// Notes in the journal what the library has acknowledged, when it has:
///   input, answer   when the run's first event arrives, which is what a caller learns first: by then the run has begun, and begun
///                   means stored, except with Durability::exit (docs/semantics.md: "The input is with the saver before the first
///                   node runs, except with exit"; "Answers are stored before anything runs on them")
///   run             when the call returned: its config names a checkpoint that is stored, with every durability
bool drive(const App& app, Journal& journal, const DriveOptions& options);

}  // namespace fault
