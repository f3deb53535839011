#include "model/http/sse_parser.hpp"

#include <algorithm>
#include <stdexcept>

namespace stategraph::model::http {

void SseParser::check(std::size_t size) const {
    if (size > limit_) throw std::length_error("an event is longer than " + std::to_string(limit_) + " bytes");
}

void SseParser::feed(std::string_view bytes, const Take& take) {
    while (!bytes.empty()) {
        if (was_cr_ && bytes.front() == '\n') bytes.remove_prefix(1);
        was_cr_ = false;
        const std::size_t end = bytes.find_first_of("\r\n");
        const std::size_t size = std::min(end, bytes.size());
        check(line_.size() + size);
        line_ += bytes.substr(0, size);
        if (end == std::string_view::npos) return;
        was_cr_ = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
        endLine(take);
    }
}

void SseParser::endLine(const Take& take) {
    std::string_view line = line_;
    if (is_first_line_ && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // a byte order mark
    is_first_line_ = false;
    if (line.empty()) {
        if (has_data_) {
            has_seen_event_ = true;
            take(name_, data_);
        }
        name_.clear();
        data_.clear();
        has_data_ = false;
    } else if (line.starts_with("{\"error\"")) {
        has_seen_event_ = true;
        take("error", line);
    } else if (line.front() != ':') {
        const std::size_t colon = std::min(line.find(':'), line.size());
        std::string_view value = line.substr(std::min(colon + 1, line.size()));
        if (value.starts_with(' ')) value.remove_prefix(1);
        if (line.substr(0, colon) == "error") {
            has_seen_event_ = true;
            take("error", value);
        } else {
            takeField(line.substr(0, colon), value);
        }
    }
    line_.clear();
}

void SseParser::takeField(std::string_view name, std::string_view value) {
    if (name == "event") name_ = value;
    if (name != "data") return;
    check(data_.size() + value.size() + 1);
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
}

}  // namespace stategraph::model::http
