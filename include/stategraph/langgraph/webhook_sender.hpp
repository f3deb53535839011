#pragma once
#include <string>

#include <stategraph/task.hpp>

// Who is notified when a run has ended.
namespace stategraph::langgraph {

/// A call that reports the end of a run.
struct Webhook {
    std::string url = {};
    /// The run's id. It is the same each time that the call is tried.
    std::string id = {};
    /// JSON: the run's record, when it began and ended, and its values.
    std::string body = {};
};

/// Makes such calls. Its methods are called from several threads at once.
class WebhookSender {
public:
    virtual ~WebhookSender() = default;

    /// Refuses an address that is not allowed, when a client asks for it. Errors: InvalidArgumentError, whose text the
    /// client receives.
    virtual void check(const std::string& url) const = 0;
    /// Makes the call once, and returns the HTTP status of the answer: 2xx, and the call was received. With another
    /// status, or if it throws, the call is tried again later.
    virtual Task<int> send(Webhook call) = 0;
};

}  // namespace stategraph::langgraph
