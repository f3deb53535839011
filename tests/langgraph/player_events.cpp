#include "tests/langgraph/player_events.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace player {

std::vector<Event> EventReader::feed(std::string_view bytes) {
    std::vector<Event> ended;
    for (const char c : bytes) {
        if (c != '\n') {
            line_ += c;
            continue;
        }
        if (line_.ends_with('\r')) line_.pop_back();
        readLine(std::exchange(line_, {}), ended);
    }
    return ended;
}

void EventReader::readLine(std::string_view line, std::vector<Event>& ended) {
    if (line.empty()) {
        if (std::exchange(is_begun_, false)) {
            boost::system::error_code error;
            const std::string data = std::exchange(data_, {}).value_or("");
            if (!data.empty()) event_.data = boost::json::parse(data, error);
            if (error) event_.data = boost::json::string(data);
            ended.push_back(std::exchange(event_, {}));
        }
        return;
    }
    if (line.starts_with(':')) return;
    is_begun_ = true;
    const std::string_view field = line.substr(0, line.find(':'));
    std::string_view value = line.substr(std::min(line.size(), field.size() + 1));
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "event") {
        event_.name = value;
    } else if (field == "id") {
        event_.id = std::string(value);
    } else if (field == "data") {
        data_ = data_ ? *data_ + "\n" + std::string(value) : std::string(value);
    }
}

}  // namespace player
