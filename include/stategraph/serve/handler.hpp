#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/serve/admission.hpp>

// Answers requests of your own, in addition to a server's graphs and pages.
namespace stategraph::serve {

/// A request to a handler. Valid during the call.
struct HandlerRequest {
    const RequestView& request;
    /// The segments of the path without the first one, each decoded after the split, so that it may contain slashes.
    std::vector<std::string> segments;
    std::map<std::string, std::string> query;
    std::string_view body;
};

/// Server-sent events that a handler answers with, for as long as the client listens.
struct HandlerEvents {
    /// The data of the next event; empty: nothing new; none: no further events. Called on the connection's thread, so
    /// other connections wait meanwhile. If it throws, the response ends, and the client sees a broken connection.
    std::function<std::optional<std::string>()> next;
    /// The time between calls; at least 1 ms.
    std::chrono::milliseconds every = std::chrono::milliseconds(100);
};

/// The response of a handler.
struct HandlerAnswer {
    int status = 200;
    std::string content_type = "application/json; charset=utf-8";
    std::string body = {};
    /// More header fields. A name or a value with control characters is refused with 500.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// These events are sent instead of a body and its type; the status must be 200. They are not requested for HEAD.
    std::optional<HandlerEvents> events = {};
};

/// Called on the server's threads, several at once; while it works, other connections of its thread wait. An error of
/// the library that says what is wrong with the request is answered as an operation's error is. The text of any other
/// exception stays in the process: the client gets 500.
using Handler = std::function<HandlerAnswer(const HandlerRequest& request)>;

}  // namespace stategraph::serve
