#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "tests/fault/kill/graph.hpp"

namespace fault {

struct RivalOptions {
    sg::Durability durability = sg::Durability::async;
    /// The number of threads, each of which gets `rounds` inputs.
    int threads = 3;
    int rounds = 2;
    /// Which of the processes this is, of how many: each thread's inputs come from one of them.
    int number = 0;
    int of = 1;
    std::uint64_t seed = 0;
};

/// Returns the name of a thread.
std::string rivalThread(int number);

/// Drives threads beside other processes that do the same, until all have ended: recovers what is in flight, resumes,
/// answers with a run and without one, and gives inputs, in a random order. A refusal that says that another process
/// was first is no fault; every other error is noted in the journal as `error TEXT`.
void driveAsRival(const App& app, sg::BaseCheckpointSaver& saver, Journal& journal, const RivalOptions& options);

}  // namespace fault
