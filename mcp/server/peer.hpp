#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/json.hpp>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/serve/admission.hpp>

#include "mcp/message.hpp"
#include "mcp/server/call.hpp"
#include "mcp/server/offer.hpp"
#include "mcp/server/outlet.hpp"
#include "mcp/server/runner.hpp"

namespace stategraph::mcp::detail {

/// The text of an error with `data`, which is JSON.
std::string errorText(std::string_view id, int code, std::string_view message, const boost::json::object& data);

/// One client: a connection, a session, or a request of a version without sessions. Safe from any thread.
class Peer : public std::enable_shared_from_this<Peer> {
public:
    Peer(std::shared_ptr<const Offer> offer, std::shared_ptr<Runner> runner)
        : offer_(std::move(offer)), runner_(std::move(runner)) {}
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    /// Handles a message. What is said about it goes to the outlet, which is finished at once or, for a call, later.
    void take(Incoming message, const std::shared_ptr<Outlet>& outlet,
              const std::optional<serve::Identity>& identity = {});
    /// Stops all calls, which get no answer, and refuses others.
    void close() noexcept;
    /// The version that `initialize` agreed on; empty before.
    std::string version() const;
    bool hasCalls() const;

    // For its calls.
    /// Returns the id of a request to the client whose answer the call awaits.
    std::int64_t expect(const std::shared_ptr<Call>& call);
    void ended(const Call& call) noexcept;

private:
    /// A request, with what `_meta` says of it.
    struct Request {
        Incoming message;
        const std::shared_ptr<Outlet>& outlet;
        const std::optional<serve::Identity>& identity;
        bool is_modern = false;
        bool can_ask = false;
    };
    void takeRequest(Request request);
    /// Reads what a request of the modern version says of itself. False: it was refused.
    bool readMeta(Request& request) const;
    void initialize(const Request& request);
    void discover(const Request& request) const;
    void list(const Request& request) const;
    void call(const Request& request);
    std::optional<CallRequest> callOf(const Request& request) const;
    void cancel(const boost::json::object& params) noexcept;
    void takeAnswer(const Incoming& message) noexcept;
    void answer(const Request& request, boost::json::object result) const;
    static void refuse(const Request& request, int code, std::string_view why);

    const std::shared_ptr<const Offer> offer_;
    const std::shared_ptr<Runner> runner_;
    mutable stategraph::detail::Mutex mutex_;
    std::string version_ SG_GUARDED_BY(mutex_);
    bool can_ask_ SG_GUARDED_BY(mutex_) = false;
    bool is_closed_ SG_GUARDED_BY(mutex_) = false;
    std::map<std::string, std::shared_ptr<Call>> calls_ SG_GUARDED_BY(mutex_);    // by the id of the request
    std::map<std::int64_t, std::shared_ptr<Call>> asking_ SG_GUARDED_BY(mutex_);  // by the id of the server's request
    std::int64_t last_id_ SG_GUARDED_BY(mutex_) = 0;
};

}  // namespace stategraph::mcp::detail
