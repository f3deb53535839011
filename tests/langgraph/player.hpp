#pragma once
#include <chrono>
#include <string>

#include <boost/json.hpp>

// Plays recorded scenarios (tests/langgraph/recorded/README.md, "A scenario") against a server of their graphs.
namespace player {

struct PlayOptions {
    unsigned short port = 0;  // of the server, on 127.0.0.1
    /// How long a reply may take, and a condition that a scenario waits for. A busy machine may pause any process.
    std::chrono::milliseconds patience = std::chrono::minutes(5);
    /// The client's sleeps last so many times as recorded; 0: it does not sleep. Build the server's graphs with the
    /// same number (described::Surroundings::slower), so that the client and the graph `slow` keep their order.
    int slower = 1;
};

/// Empties the server (`POST /internal/truncate`, if it has that), sends the requests of a scenario, and compares the
/// replies. Returns an empty text if all are as recorded. Otherwise returns the first difference: the scenario, the
/// step (from 1) with its request, the place in the reply, what was expected, and what came.
///
/// The client's listener for webhooks has a port of its own, which takes the place of the recorded 2999.
std::string play(const boost::json::object& scenario, const PlayOptions& options);

/// Whether the outcome of a scenario depends on how fast client and server are: it sleeps between requests. Repeat such
/// a scenario with greater values of PlayOptions::slower before its failure counts (tests/support/enough_time.hpp).
bool takesTime(const boost::json::object& scenario);

}  // namespace player
