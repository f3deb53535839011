#pragma once
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/config.hpp>
#include <stategraph/langgraph/graph.hpp>
#include <stategraph/langgraph/webhook_sender.hpp>

#include "langgraph/body.hpp"
#include "langgraph/clock.hpp"
#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

// What a client asks of a run: read from a request, kept in the run's record, and used when the run begins.
namespace stategraph::langgraph {

/// What a run is asked for on.
struct RunPlace {
    const AssistantRecord& assistant;
    const ServedGraph& graph;
    const ThreadRecord& thread;
    /// Header fields that are settings of the run.
    boost::json::object headers = {};
    /// The time from which `after_seconds` counts.
    Clock::Time now = {};
    /// Checks addresses of webhooks; null: there are none.
    const WebhookSender* webhooks = nullptr;
};

/// Reads the body of a request for a run. Errors: InvalidRequest.
RunRecord readRun(const Body& body, const RunPlace& place);
/// Reads a Command: {"resume", "update", "goto"}. Errors: InvalidRequest.
detail::RunStart readCommand(const Body& command, const ServedGraph& graph);
/// Reads an update of the graph's channels, {channel: value}. Errors: InvalidRequest, which names channels that the
/// graph does not have.
Value readUpdate(const boost::json::value& values, const ServedGraph& graph, const std::string& where);
/// Reads where a Command goes. Errors: InvalidRequest.
Targets readTargets(const boost::json::value& targets);
/// Reads a checkpoint that a request names, as an id or as an object. Errors: InvalidRequest.
Config readCheckpoint(const Body& body, const std::string& thread_id);

/// What a run begins with. Errors: as readRun.
detail::RunStart startOf(const ServedGraph& graph, const RunRecord& run);
/// How a run is made. Errors: those of GraphOptions::prepare; InvalidArgumentError.
RunConfig configOf(const ServedGraph& graph, const RunRecord& run);
/// What the run stores with each checkpoint.
boost::json::object storedMetadata(const RunRecord& run);
/// The modes that are asked for.
std::vector<std::string> modesOf(const RunRecord& run);
bool flagOf(const RunRecord& run, std::string_view name);

/// A run as clients read it.
boost::json::object runJson(const RunRecord& run);
/// One object over another, member by member.
boost::json::object merged(boost::json::object below, const boost::json::object& above);
/// A member that is an object; empty if it is none.
boost::json::object objectIn(const boost::json::object& of, std::string_view name);

}  // namespace stategraph::langgraph
