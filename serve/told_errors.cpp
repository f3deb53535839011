#include "serve/told_errors.hpp"

#include <chrono>
#include <iostream>
#include <random>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>

namespace stategraph::serve {

namespace {

// The table is emptied beyond this: an error that is told again then has another number, and another line in the log.
constexpr std::size_t remembered_bytes_max = 1U << 20U;

std::string newNumber() {
    thread_local std::random_device source;
    constexpr char digits[] = "0123456789abcdef";
    std::string number;
    for (int i = 0; i < 12; ++i) number += digits[source() % 16];
    return number;
}

}  // namespace

ToldErrors::ToldErrors(bool shows, Log log) : shows_(shows), log_(std::move(log)) {}

std::string ToldErrors::tell(std::string_view what, std::string_view text, const Where& where) {
    return shows_ ? std::string(text) : std::string(what) + "; error " + numberOf(text, where);
}

ErrorText ToldErrors::texts(Where where) {
    if (shows_) return {};
    return [this, where = std::move(where)](std::string_view what, std::string_view text) {
        return tell(what, text, where);
    };
}

std::string ToldErrors::numberOf(std::string_view text, const Where& where) {
    std::string key = where.endpoint + '\0' + where.thread + '\0';
    key += text;
    std::string number;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (const auto known = numbers_.find(key); known != numbers_.end()) return known->second;
        if (bytes_ += key.size(); bytes_ > remembered_bytes_max) {
            numbers_.clear();
            bytes_ = key.size();
        }
        number = newNumber();
        numbers_.emplace(std::move(key), number);
    }
    log(number, text, where);
    return number;
}

void ToldErrors::log(const std::string& number, std::string_view text, const Where& where) const noexcept {
    try {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        boost::json::object line{{"event", "error"},
                                 {"time", std::chrono::duration_cast<std::chrono::milliseconds>(now).count()},
                                 {"number", number},
                                 {"text", text}};
        if (!where.endpoint.empty()) line["endpoint"] = where.endpoint;
        if (!where.thread.empty()) line["thread"] = where.thread;
        const std::string written = stategraph::detail::jsonText(line);
        if (log_) {
            log_(written);
        } else {
            std::cerr << written + "\n";
        }
    } catch (...) {  // the client has a number without a line; there was no memory, or the program's log failed
    }
}

Failure ToldErrors::failureOf(const std::exception_ptr& error, const Where& where) {
    Failure failure = serve::failureOf(error);
    if (failure.is_for_client) return failure;
    const bool is_internal = failure.status == http::status::internal_server_error;
    failure.text =
        tell(is_internal ? untold_failure : "the server cannot do this now; try again later", failure.text, where);
    failure.json = errorJson(failure.text);
    return failure;
}

}  // namespace stategraph::serve
