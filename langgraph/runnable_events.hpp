#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/stream.hpp>

#include "langgraph/event_json.hpp"

namespace stategraph::langgraph {

/// The stream mode `events`: what LangChain's runnables report of themselves. The graph and its nodes are chains, and
/// what a node emits of a message is of a chat model. Used by one thread at a time; the shapes must outlive it.
class RunnableEvents {
public:
    explicit RunnableEvents(const EventJson& shapes) : shapes_(shapes) {}

    boost::json::object begin(const boost::json::value& input);
    boost::json::object end(const boost::json::value& output);
    /// `task`: the event as clients read it.
    boost::json::object task(const StreamEvent& event, const boost::json::object& task);
    /// Of a piece of a message: also that the model begins, with its first one.
    std::vector<boost::json::object> piece(const StreamEvent& event, std::string_view task,
                                           const boost::json::value& piece);

private:
    struct Node {
        std::string run_id;
        boost::json::value input;
    };
    boost::json::object ofTask(std::string_view event_name, const StreamEvent& event, std::string_view task,
                               std::string_view run_id, boost::json::object data) const;

    const EventJson& shapes_;
    boost::json::value input_;
    std::map<std::string, Node, std::less<>> nodes_;          // that run, by task
    std::map<std::string, std::string, std::less<>> models_;  // the ids of their runs, by message
};

}  // namespace stategraph::langgraph
