#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/value.hpp>

// Who may ask a server for what.
namespace stategraph::serve {

/// A request as a hook sees it. Valid during the call.
class RequestView {
public:
    virtual ~RequestView() = default;
    virtual std::string_view method() const = 0;
    /// The path with its query, as the client sent it. Decide by `path`, `endpoint` and `thread`, which are what the
    /// server acts on.
    virtual std::string_view target() const = 0;
    /// The value of a header field; empty if the request does not have it.
    virtual std::string_view header(std::string_view name) const = 0;
    /// Calls `take` with the name and the value of each header field, in their order.
    virtual void forEachHeader(
        const std::function<void(std::string_view name, std::string_view value)>& /*take*/) const {}
    /// The path as the server's routes read it: decoded, except that '/' and '%' inside a segment are %2F and %25.
    virtual std::string_view path() const { return {}; }
    /// What is asked for: "start", "resume", "decide", "cancel", "state", "history", "events", "schema", "chat",
    /// "stream", "ag-ui", "health", "ready", "metrics", "page" (also for a path at which there is nothing), or
    /// "handler".
    virtual std::string_view operation() const { return {}; }
    /// The name of the endpoint or of the handler; empty if the path names none.
    virtual std::string_view endpoint() const { return {}; }
    /// The client's name of the thread, wherever it is in the request: a chat has it in its body. Empty if the
    /// operation is about no thread, and for a handler.
    virtual std::string_view thread() const { return {}; }
    /// The client's address, such as "192.0.2.1"; behind a proxy, that of the proxy, unless ClientLimits::proxies has
    /// it.
    virtual std::string_view remote() const { return {}; }
};

/// Who asks. Nodes, tools, steps, models and middleware of the run that a request begins see it as the run's context:
/// `runtime.context<serve::Identity>()`.
struct Identity {
    /// Different for different users. It is stored in the metadata of the thread (owner_key).
    std::string name = {};
    /// What else is known of the user. It is not stored.
    Value about = {};
};

/// What a hook decides about a request: it is served, as a request of somebody or of nobody, or refused.
struct Admission {
    /// The request is served, and it is not known who asks.
    Admission() = default;
    /// 0: the request is served; otherwise it is refused with this status, from 400 to 599.
    Admission(int refused_with, std::string why = "the request is not authorized")
        : status(refused_with), reason(std::move(why)) {}
    /// The request is served as one of this user.
    Admission(Identity who) : identity(std::move(who)) {}

    int status = 0;
    /// What the client is told of a refusal.
    std::string reason = {};
    std::optional<Identity> identity = {};
};

/// Decides about a request. Called on the server's threads, several at once.
using Authorize = std::function<Admission(const RequestView& request)>;

}  // namespace stategraph::serve
