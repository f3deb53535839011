#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

namespace player {

/// One server-sent event.
struct Event {
    std::string name = "message";
    std::optional<std::string> id = {};
    /// The data as JSON, null without any. Data that is no JSON is the text itself.
    boost::json::value data = nullptr;
};

/// Reads a stream of server-sent events, in pieces of any size. Comments are left out.
class EventReader {
public:
    /// Returns the events that end in `bytes`.
    std::vector<Event> feed(std::string_view bytes);

private:
    void readLine(std::string_view line, std::vector<Event>& ended);

    std::string line_;  // the one that has not ended
    Event event_;
    std::optional<std::string> data_;
    bool is_begun_ = false;  // whether the event has a field
};

}  // namespace player
