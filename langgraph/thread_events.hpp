#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/langgraph/graph.hpp>
#include <stategraph/run_outcome.hpp>
#include <stategraph/stream.hpp>

#include "langgraph/event_json.hpp"
#include "langgraph/message_blocks.hpp"
#include "langgraph/thread_feed.hpp"
#include "langgraph/tool_events.hpp"

namespace stategraph::langgraph {

/// Writes the events of one run to the feed of its thread, as the second protocol has them. Used by one thread at a
/// time.
class ThreadEvents {
public:
    ThreadEvents(std::shared_ptr<ThreadFeed> feed, EventJson shapes);

    /// What a run has to report, subgraphs included.
    static StreamModes reported();

    /// The run begins. Further calls do nothing.
    void begin();
    void take(const StreamEvent& event);
    /// Whether the run ended with questions or at a breakpoint.
    void stopped(bool is_stopped) noexcept { is_stopped_ = is_stopped; }
    void failed(const ReportedError& error) { error_ = error; }
    /// The run has ended, as its record says: "success", "interrupted", "error" or "timeout".
    void end(const std::string& status);

private:
    /// A state that waits for the checkpoint that it belongs to.
    struct Held {
        boost::json::object params;
        std::int64_t step = 0;
    };

    void values(const StreamEvent& event);
    void checkpoint(const StreamEvent& event);
    void updates(const StreamEvent& event);
    void task(const StreamEvent& event);
    void message(const StreamEvent& event);
    void custom(const StreamEvent& event);
    void add(std::string_view channel, const StreamEvent& event, boost::json::value data);
    void addTool(const StreamEvent& event, const ToolEvent& call);
    /// The place inside the run where a task runs, or a message is written, begins if it has not yet.
    void enter(const std::vector<std::string>& ns);
    void leave(const std::vector<std::string>& ns, const char* how);
    void finishMessage(const StreamEvent& event);
    void release(const std::vector<std::string>& ns);
    MessageBlocks::Tell tellAt(const StreamEvent& event, std::vector<std::string> ns);

    const std::shared_ptr<ThreadFeed> feed_;
    const EventJson shapes_;
    MessageBlocks blocks_;
    ToolEvents tools_;
    std::map<std::vector<std::string>, Held> held_;            // by namespace
    std::map<std::string, std::vector<std::string>> writing_;  // where tasks write messages
    std::set<std::vector<std::string>> entered_;
    std::set<std::string> asked_;  // questions that were reported
    ReportedError error_;
    bool has_begun_ = false;
    bool is_stopped_ = false;
};

}  // namespace stategraph::langgraph
