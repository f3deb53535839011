#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/langgraph/webhook_sender.hpp>

// Webhooks over HTTP.
namespace stategraph::langgraph {

/// The options of webhooks.
struct WebhookOptions {
    /// Which hosts may be called: "hooks.example.com", "*.example.com" for all names that end so, "*" for every name,
    /// or an address, "192.0.2.1" or "::1". An address that is private, loopback, link-local or otherwise not of the
    /// public internet is called only if it is itself in this list, also where a name leads to it. Must not be empty.
    std::vector<std::string> hosts = {};
    /// Signs each call. At least 16 bytes. Must be given.
    std::string key = {};
    /// The limit for one call.
    std::chrono::milliseconds limit = std::chrono::seconds(10);
    /// A PEM file of the certificates to trust, instead of the system's.
    std::string ca_file = {};
    /// The time of signatures, for tests; null: the system's.
    std::function<std::chrono::system_clock::time_point()> now = {};
};

/// Makes calls by POST over HTTP and HTTPS. Each has the header fields of Standard Webhooks: `webhook-id` (the run's
/// id, the same each time that the call is tried), `webhook-timestamp` (seconds since 1970) and `webhook-signature`:
/// `v1,` and the HMAC-SHA256 of ID.TIMESTAMP.BODY in base64.
///
/// The address to which a connection is made is the one that was checked: a name that leads elsewhere later changes
/// nothing. Redirects are not followed, and no proxy is used. Errors: InvalidArgumentError for options that make no
/// sense.
std::shared_ptr<WebhookSender> httpWebhooks(WebhookOptions options);

}  // namespace stategraph::langgraph
