#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/stream.hpp>

namespace stategraph::langgraph {

/// What happens to a call of a tool.
struct ToolEvent {
    enum class Kind : std::uint8_t { started, progress, finished, failed };
    Kind kind = Kind::started;
    std::string call_id = {};
    std::string name = {};
    /// The arguments, what the tool reported, its output as a message or a value, or the text of the error.
    boost::json::value data = {};
};

/// Finds calls of tools among the tasks of a run: a Send whose input is a call, {"id", "name", "arguments"}, as those
/// of an agent are. Used by one thread at a time.
class ToolEvents {
public:
    /// `task`: the event as clients read it. None: the task calls no tool, or waits for an answer.
    std::optional<ToolEvent> take(const StreamEvent& event, const boost::json::object& task);
    /// What a tool reports while it runs. None: another task reports it.
    std::optional<ToolEvent> progress(const StreamEvent& event, const boost::json::value& data) const;

private:
    struct Call {
        std::string id;
        std::string name;
        std::string place;  // of the task, among those of a run
    };
    std::map<std::string, Call, std::less<>> calls_;  // that have begun, by task
};

/// The event of the stream mode `tools`.
boost::json::object toolJson(const ToolEvent& event);

}  // namespace stategraph::langgraph
