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
    /// The parameters of the target; of one that is repeated, the last value.
    std::map<std::string, std::string> query;
    std::string_view body;
    /// All values of each parameter, in their order.
    std::map<std::string, std::vector<std::string>> lists = {};
    /// Who asks, as the hook named it (ServerOptions::authorize).
    std::optional<Identity> identity = {};
    /// Takes the place among the client's streams (ClientLimits::streams_max) that the answer's events need. False: the
    /// client has as many streams as it may, and events would be answered with 429. Call it before something is begun
    /// that the events report; without a call the place is taken when the handler has answered. Null: there is no
    /// limit. Call it during the handler's call alone.
    std::function<bool()> take_stream = {};
};

/// Server-sent events that a handler answers with, for as long as the client listens; or any body that comes to exist
/// piece by piece.
struct HandlerEvents {
    /// The data of the next event; empty: nothing new; none: no further events. Called on the connection's thread, so
    /// other connections wait meanwhile. If it throws, the response ends, and the client sees a broken connection.
    std::function<std::optional<std::string>()> next;
    /// The time between calls, unless `begin` announces something earlier; at least 1 ms. A client that has
    /// disconnected is noticed after this time.
    std::chrono::milliseconds every = std::chrono::milliseconds(100);
    /// Called once before the first `next`. It gets a function that has `next` called again soon: call it, from any
    /// thread and also after the response has ended, whenever there may be something new; `next` is then called until
    /// it has nothing. Null: `every` alone counts.
    std::function<void(std::function<void()> announce)> begin = {};
    /// Called once if the client disconnects before the end, on the connection's thread.
    std::function<void()> left = {};
    /// Whether `next` returns pieces of the body as they are sent, and not the data of events: HandlerAnswer's
    /// `content_type` is their type then.
    bool is_whole = false;
    /// What is sent when nothing happens, and after which time; none: ServerOptions::heartbeat.
    std::string idle_text = ": \n\n";
    std::optional<std::chrono::milliseconds> heartbeat = {};
};

/// A conversation over a WebSocket that a handler answers an upgrade with. Its functions are called on the connection's
/// thread, so other connections wait meanwhile. A message of the client is a text of at most
/// ServerOptions::body_bytes_max, and counts as a request (ClientLimits::requests). It is read when the one before it
/// has been taken. A client that answers no ping and takes nothing for ServerOptions::write_timeout, and then for a
/// heartbeat, is disconnected. Pages of other origins than ServerOptions::origins may not open one.
struct HandlerSocket {
    /// Takes a message, which is the body of a request that is otherwise the one that opened the conversation. If it
    /// throws, the conversation ends.
    std::function<void(const HandlerRequest& message)> take;
    /// The next message to the client; empty: nothing new; none: the conversation ends, and the client may open another
    /// one. Called as HandlerEvents::next.
    std::function<std::optional<std::string>()> next;
    /// As HandlerEvents::begin.
    std::function<void(std::function<void()> announce)> begin = {};
};

/// The response of a handler.
struct HandlerAnswer {
    int status = 200;
    std::string content_type = "application/json; charset=utf-8";
    std::string body = {};
    /// More header fields. A name or a value with control characters is refused with 500.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// These events are sent instead of a body; the status must be 200. They are not requested for HEAD.
    std::optional<HandlerEvents> events = {};
    /// The connection becomes a WebSocket. Errors: 426 if the client asks for none.
    std::optional<HandlerSocket> socket = {};
    /// The answer is sent when this returns true, or when the server is drained; null: now. Called on the connection's
    /// thread every few milliseconds.
    std::function<bool()> is_due = {};
};

/// Called on the server's threads, several at once; while it works, other connections of its thread wait. An error of
/// the library that says what is wrong with the request is answered as an operation's error is. The text of any other
/// exception stays in the process: the client gets 500.
using Handler = std::function<HandlerAnswer(const HandlerRequest& request)>;

}  // namespace stategraph::serve
