#include "mcp/broken_message.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace stategraph::mcp::detail {
namespace {

constexpr std::size_t found_max = 1000;

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Walks through a text that should be JSON, and looks at the members of its messages alone.
class Walk {
public:
    explicit Walk(std::string_view text) : text_(text) {
        skipBlanks();
        is_batch_ = at_ < text_.size() && text_[at_] == '[';
    }

    std::vector<std::int64_t> answered() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                takeString();
                continue;
            }
            if (c == '{' || c == '[') ++level_;
            if (c == '{' && isAtMessage()) message_ = {};
            if (c == '}' && isAtMessage()) endMessage();
            if ((c == '}' || c == ']') && level_ > 0) --level_;
            ++at_;
        }
        endMessage();  // one that was cut off
        return std::move(found_);
    }

private:
    struct Message {
        std::int64_t id = -1;
        bool is_answer = false;  // it has a member that log lines do not have
        bool is_request = false;
    };

    bool isAtMessage() const { return level_ == (is_batch_ ? 2 : 1); }
    void skipBlanks() {
        while (at_ < text_.size() && isBlank(text_[at_])) ++at_;
    }

    /// Reads a string, and if it names a member of a message, notes what that says.
    void takeString() {
        const std::size_t begin = ++at_;
        while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
        const std::string_view name = text_.substr(begin, at_ - begin);
        ++at_;
        if (!isAtMessage()) return;
        skipBlanks();
        if (at_ >= text_.size() || text_[at_] != ':') return;
        ++at_;
        if (name == "id") takeId();
        if (name == "method") message_.is_request = true;
        if (name == "jsonrpc" || name == "result" || name == "error") message_.is_answer = true;
    }
    void takeId() {
        skipBlanks();
        const bool is_text = at_ < text_.size() && text_[at_] == '"';
        const std::size_t begin = at_ + (is_text ? 1 : 0);
        const std::size_t end = std::min(text_.find_first_of(is_text ? "\"" : ",} \t\r\n", begin), text_.size());
        if (begin > text_.size() || end == text_.size()) return;  // it may go on
        message_.id = idIn(text_.substr(begin, end - begin));
        at_ = end + (is_text ? 1 : 0);
    }
    void endMessage() {
        if (message_.id >= 0 && message_.is_answer && !message_.is_request && found_.size() < found_max)
            found_.push_back(message_.id);
        message_ = {};
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t level_ = 0;
    bool is_batch_ = false;
    Message message_;
    std::vector<std::int64_t> found_;
};

}  // namespace

std::int64_t idIn(std::string_view text) noexcept {
    std::int64_t number = -1;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool is_plain = !text.empty() && text.front() != '-' && (text.front() != '0' || text.size() == 1);
    return is_plain && read.ec == std::errc() && read.ptr == end ? number : -1;
}

std::vector<std::int64_t> answeredIn(std::string_view text) { return Walk(text).answered(); }

}  // namespace stategraph::mcp::detail
