#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/serve/endpoint.hpp>
#include <stategraph/stream.hpp>

#include "langgraph/message_channels.hpp"

// The parts of events that both protocols send.
namespace stategraph::langgraph {

/// What events say about their run.
struct EventRun {
    std::string run_id = {};
    std::string thread_id = {};
    std::string graph_id = {};
    std::string assistant_id = {};
    /// What the run stores with its checkpoints.
    boost::json::object metadata = {};
    int recursion_limit = 25;
};

/// Writes tasks, checkpoints and messages of a run as clients read them. The channels must outlive it.
class EventJson {
public:
    EventJson(EventRun run, const MessageChannels& channels, serve::ErrorText error_text)
        : run_(std::move(run)), channels_(channels), error_text_(std::move(error_text)) {}

    const EventRun& run() const noexcept { return run_; }
    const MessageChannels& channels() const noexcept { return channels_; }

    /// The start or the end of a task.
    boost::json::object task(const StreamEvent& event, const boost::json::value& data) const;
    /// A checkpoint, which those of graphs inside name until the next one.
    boost::json::object checkpoint(const StreamEvent& event, const boost::json::value& data);
    /// What is said of what a task does, such as of a message that it writes.
    boost::json::object taskMetadata(const StreamEvent& event, std::string_view task) const;

private:
    /// The newest checkpoint of a graph that has run.
    struct Newest {
        std::string id = {};
        std::int64_t step = 0;
    };

    boost::json::object config(const boost::json::value& config, const boost::json::object& parents) const;
    boost::json::array triggersOf(const StreamEvent& event) const;
    boost::json::array dueTasks(const StreamEvent& event, const boost::json::value& due) const;
    /// The checkpoints of the graphs around one, by their namespaces.
    boost::json::object parentsOf(const StreamEvent& event) const;
    void note(const StreamEvent& event, const boost::json::value& data);

    EventRun run_;
    const MessageChannels& channels_;
    serve::ErrorText error_text_;
    std::map<std::string, Newest> newest_;  // by namespace
};

/// A member of an object; null if there is none.
const boost::json::value& memberIn(const boost::json::value& of, std::string_view name);
/// A member that is a text; empty if it is none.
std::string_view textIn(const boost::json::value& of, std::string_view name);
/// A namespace as one text, "node:task|node:task".
std::string joined(const std::vector<std::string>& ns);
/// What all events of a task have in common, and those of no other task of the run.
std::string taskKey(const StreamEvent& event);
/// Whether a value reports questions, or a breakpoint, in place of a state.
bool isStop(const boost::json::value& data);

}  // namespace stategraph::langgraph
