#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace stategraph::model::http {

/// Parses server-sent events as the WHATWG standard does. Lines end with LF, CR or CRLF; a line that begins with a
/// colon is a comment; several lines of data belong to one event; an event ends with an empty line, and one that does
/// not is dropped. `id` and `retry` are ignored. Beyond the standard, a line that is a JSON object which begins with
/// "error", as Ollama writes when it fails in the middle of an answer, and a field `error`, as llama.cpp has written,
/// are events with that name. The bytes may arrive in any pieces. Not thread-safe. Cost: one pass,
/// and a copy of each line.
class SseParser {
public:
    /// The arguments are valid during the call. The name is empty if the event has none.
    using Take = std::function<void(std::string_view name, std::string_view data)>;

    /// `limit` is the limit of a line and of an event's data, in bytes.
    explicit SseParser(std::size_t limit) : limit_(limit) {}
    /// Calls `take` for each event that these bytes complete. Errors: std::length_error beyond the limit; errors of
    /// `take`. After an error the parser must not be used any more.
    void feed(std::string_view bytes, const Take& take);
    bool hasSeenEvent() const noexcept { return has_seen_event_; }

private:
    void endLine(const Take& take);
    void takeField(std::string_view name, std::string_view value);
    void check(std::size_t size) const;

    std::size_t limit_;
    std::string line_;
    std::string name_;
    std::string data_;
    bool has_data_ = false;
    bool was_cr_ = false;
    bool is_first_line_ = true;
    bool has_seen_event_ = false;
};

}  // namespace stategraph::model::http
