#pragma once
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/serve/endpoint.hpp>
#include <stategraph/stream.hpp>

#include "langgraph/event_json.hpp"
#include "langgraph/message_channels.hpp"
#include "langgraph/runnable_events.hpp"
#include "langgraph/tool_events.hpp"

namespace stategraph::langgraph {

/// The modes that a client may ask for.
struct WantedModes {
    /// Errors: InvalidRequest for a mode that is not known, or not served.
    explicit WantedModes(const std::vector<std::string>& names);
    bool has(std::string_view name) const { return names.contains(name); }
    /// What the run has to report for them.
    StreamModes reported() const;

    std::set<std::string, std::less<>> names;
};

/// Makes events as clients know them from the events of one run. Used by one thread at a time.
class RunEvents {
public:
    /// Gets the name and the data of each event.
    using Tell = std::function<void(std::string name, std::string data)>;

    RunEvents(EventRun run, WantedModes wanted, bool subgraphs, const MessageChannels& channels,
              serve::ErrorText error_text, Tell tell);

    /// The run begins, with what a client sent as its input.
    void begin(const boost::json::value& input);
    /// Events of modes that were not asked for are ignored.
    void take(const StreamEvent& event);
    /// The run has ended, and has not failed.
    void end();
    /// The last state that the graph itself reported, or its questions; null if it reported none. Only if the modes
    /// have values.
    const boost::json::value& lastValues() const noexcept { return last_values_; }

private:
    void values(const StreamEvent& event);
    void updates(const StreamEvent& event);
    void tasks(const StreamEvent& event);
    void checkpoints(const StreamEvent& event);
    void debug(const StreamEvent& event);
    void custom(const StreamEvent& event);
    void message(const StreamEvent& event);
    /// The mode "messages": messages as far as they are written, and whole ones.
    void partial(const StreamEvent& event, const boost::json::object& piece, boost::json::object metadata);
    void complete(const boost::json::object& values, const StreamEvent& event);

    boost::json::object messageMetadata(const StreamEvent& event, std::string_view task, bool is_piece) const;
    bool takes(const StreamEvent& event) const;
    /// Numbers the calls of a message, of which each piece has one.
    void numberCalls(boost::json::value& piece);
    void tell(std::string_view mode, const StreamEvent& event, const boost::json::value& data) const;

    EventJson shapes_;
    const WantedModes wanted_;
    const StreamModes reported_;
    const bool has_subgraphs_;
    const MessageChannels& channels_;
    Tell tell_;
    boost::json::value last_values_;
    std::map<std::string, boost::json::object> written_;     // messages that are being written, by id
    std::set<std::string> completed_;                        // ids of whole messages that were told
    std::map<std::string, std::vector<std::string>> calls_;  // ids of a message's calls, by its id
    ToolEvents tools_;
    RunnableEvents runnables_;
};

}  // namespace stategraph::langgraph
