#pragma once
#include <memory>
#include <string>
#include <vector>

#include <stategraph/serve/handler.hpp>

#include "langgraph/live_run.hpp"
#include "langgraph/service.hpp"

// Answers that last as long as a run.
namespace stategraph::langgraph {

/// Which events of a run a client gets.
struct StreamOf {
    std::shared_ptr<LiveRun> run;
    /// The number of the first event.
    std::uint64_t from = 0;
    /// Events of these modes alone; empty: all that the run was asked for.
    std::vector<std::string> modes = {};
    /// Whether the run is cancelled if the client disconnects.
    bool cancels = false;
};

/// The run's events, from the first on until it ends.
serve::HandlerAnswer streamOf(Service& service, StreamOf stream);
/// What clients get who wait for the run: its last values, its questions or its error.
serve::HandlerAnswer resultOf(Service& service, const std::shared_ptr<LiveRun>& run, bool cancels);
/// The values of the run's thread when the run has ended, for a run that another server drives: as a stream's only
/// event, or alone.
serve::HandlerAnswer followedOf(Service& service, const RunRecord& run, bool is_stream);
/// The header fields that say where the run is found.
void addLocation(const LiveRun& run, bool is_stream, serve::HandlerAnswer& answer);

}  // namespace stategraph::langgraph
