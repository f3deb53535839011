#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/interrupt.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/snapshot.hpp>

#include "langgraph/message_channels.hpp"

// States of threads as clients read them.
namespace stategraph::langgraph {

/// A list of states ends after so many bytes of values, as they are stored, though its limit allows more.
inline constexpr std::size_t values_bytes_max = 32U << 20U;

/// What a state is shown with.
struct ShownThread {
    const MessageChannels& channels;
    std::string thread_id = {};
    std::string graph_id = {};
    /// Null: clients are told the texts of errors.
    serve::ErrorText error_text = {};
};

/// Where the log of a graph inside belongs: the checkpoints of the graphs around it, by their namespaces.
struct Around {
    boost::json::object parents = {};
    /// The superstep of the graph directly around it in which it runs.
    std::int64_t step = 0;
};

/// Adds what the metadata of a graph inside says about the task that runs it, whose namespace `ns` is.
void addPlace(const std::string& ns, std::int64_t step, boost::json::object& metadata);
/// The namespace of a task that runs a graph: its node's at a place and its id. Empty if its node is no graph.
std::string innerNamespace(const MessageChannels& channels, const std::string& ns, std::string_view node,
                           std::string_view task);

/// A checkpoint as {"thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"}. Without an id: null.
boost::json::value checkpointJson(const Config& config, const Around& around = {});
/// A state; of a thread without a checkpoint the empty one.
boost::json::object stateJson(const SnapshotData& at, const ShownThread& shown, const Around& around = {});
/// The state of a thread in which nothing is stored.
boost::json::object emptyState();
/// Tasks as states and events of checkpoints have them.
boost::json::array tasksJson(const SnapshotData& at, const ShownThread& shown);
/// The values of a state.
boost::json::value valuesJson(const Value& values, const MessageChannels& channels, std::string_view ns = {});
/// Questions as [{"id", "value"}].
boost::json::array questionsJson(std::span<const Interrupt> questions);
/// The open questions of each task that waits: {task: [question]}, with an empty list for a task at a breakpoint.
boost::json::object openQuestions(const SnapshotData& at);
/// {"source", "step", "parents"} and what the run added.
boost::json::object metadataJson(const SnapshotData& at, const ShownThread& shown, const Around& around);
/// The way of a task: ["__pregel_pull", NODE] or ["__pregel_push", INDEX].
boost::json::array pathJson(std::string_view path);

}  // namespace stategraph::langgraph
