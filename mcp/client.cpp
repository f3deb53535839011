#include <stategraph/mcp/client.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include <stategraph/async.hpp>
#include <stategraph/detail/mutex.hpp>
#include <stategraph/error.hpp>

#include "mcp/message.hpp"
#include "mcp/results.hpp"
#include "mcp/session.hpp"

namespace stategraph::mcp {

namespace json = boost::json;
using detail::Clock;
using detail::Session;

/// The sessions of a client, one after the other.
class Client::Impl {
public:
    Impl(Transport transport, ClientOptions options)
        : transport_(std::move(transport)), shared_(std::make_shared<detail::Shared>()) {
        shared_->options = std::move(options);
        shared_->secrets = transport_.connector()->secrets();
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() { close(); }

    /// Returns the session, which it starts if there is none. Errors: McpError.
    std::shared_ptr<Session> session(const std::string& what);
    void close() noexcept;
    const detail::Shared& shared() const noexcept { return *shared_; }
    std::optional<ServerInfo> info() const;

private:
    const Transport transport_;
    const std::shared_ptr<detail::Shared> shared_;

    mutable stategraph::detail::Mutex mutex_;
    std::shared_ptr<Session> session_ SG_GUARDED_BY(mutex_);
    /// Sessions that are over, until their processes have ended.
    std::vector<std::shared_ptr<Session>> ending_ SG_GUARDED_BY(mutex_);
    std::size_t starts_in_a_row_ SG_GUARDED_BY(mutex_) = 0;
    std::string last_failure_ SG_GUARDED_BY(mutex_);
    bool is_closed_ SG_GUARDED_BY(mutex_) = false;
};

std::shared_ptr<Session> Client::Impl::session(const std::string& what) {
    const stategraph::detail::LockGuard lock(mutex_);
    if (is_closed_) throw shared_->error(Failure::connection, what + " cannot be called: the client was closed");
    if (session_ && !session_->isDead()) return session_;
    std::erase_if(ending_, [](const auto& each) { return each->isOver(); });
    if (session_) {
        if (session_->hasAnswered()) starts_in_a_row_ = 0;
        last_failure_ = session_->whyDead();
        ending_.push_back(std::move(session_));
        session_.reset();
    }
    if (starts_in_a_row_ > shared_->options.max_restarts) {
        throw shared_->error(Failure::connection, what + " cannot be called: the server was started " +
                                                      std::to_string(starts_in_a_row_) +
                                                      " times, and answered no request since; at last " +
                                                      last_failure_ + ". Mend the server, and make another client");
    }
    ++starts_in_a_row_;
    try {
        session_ = std::make_shared<Session>(shared_, *transport_.connector());
    } catch (const McpError& error) {
        last_failure_ = error.what();
        throw;
    }
    return session_;
}

void Client::Impl::close() noexcept {
    std::vector<std::shared_ptr<Session>> ending;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        is_closed_ = true;
        ending.swap(ending_);
        if (session_) ending.push_back(std::move(session_));
        session_.reset();
    }
    for (const auto& each : ending) each->end("the client was closed");
    for (const auto& each : ending) each->close("the client was closed");
}

std::optional<ServerInfo> Client::Impl::info() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return session_ ? session_->info() : std::nullopt;
}

namespace {

/// A request that is cancelled unless it is over.
class Asked {
public:
    Asked(std::shared_ptr<Session> session, const detail::Outgoing& request)
        : session_(std::move(session)), pending_(session_->begin(request)) {}
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;
    ~Asked() { cancel("the caller does not wait any more"); }

    void cancel(std::string_view reason) noexcept { session_->cancel(*pending_, reason); }
    Session& session() const noexcept { return *session_; }
    detail::Pending& pending() const noexcept { return *pending_; }

private:
    std::shared_ptr<Session> session_;
    std::shared_ptr<detail::Pending> pending_;
};

void checkStop(const detail::Shared& shared, const std::stop_token& stop, const std::string& what) {
    if (stop.stop_requested())
        throw CancelledError("MCP server '" + shared.options.name + "': " + what + " was stopped before it answered");
}

/// Makes a request and awaits its answer.
template <class Sessions>
Task<json::object> ask(std::shared_ptr<Sessions> sessions, detail::Outgoing request, CallOptions options) {
    const detail::Shared& shared = sessions->shared();
    const std::chrono::milliseconds limit = options.timeout.value_or(shared.options.timeout);
    const Clock::time_point deadline = stategraph::detail::after(limit);
    checkStop(shared, options.stop, request.what);
    request.wants_progress = static_cast<bool>(options.on_progress);
    Asked asked(sessions->session(request.what), request);
    Session& session = asked.session();
    for (;;) {
        {
            detail::NextNews next(session, asked.pending(), session.wakeAt(deadline), options.stop);
            co_await next;
        }
        detail::News news = session.look(asked.pending());
        for (const Progress& report : news.progress) {
            if (options.on_progress) options.on_progress(report);
        }
        if (news.error) std::rethrow_exception(news.error);
        if (news.is_over) co_return std::move(news.result);
        if (options.stop.stop_requested()) {
            asked.cancel("the call was stopped");
            checkStop(shared, options.stop, request.what);
        }
        const Clock::time_point now = Clock::now();
        session.checkConnecting(now);
        if (now >= deadline && !session.isDead()) {
            asked.cancel("the call took too long");
            throw shared.error(Failure::timeout, request.what + " did not answer within " +
                                                     std::to_string(limit.count()) + " ms" + session.unreadableLines());
        }
    }
}

template <class Sessions>
Task<std::vector<ToolInfo>> listAll(std::shared_ptr<Sessions> sessions, CallOptions options) {
    const ClientOptions& limits = sessions->shared().options;
    const Clock::time_point deadline = stategraph::detail::after(options.timeout.value_or(limits.timeout));
    std::vector<ToolInfo> tools;
    std::string cursor;
    for (std::size_t pages = 0;; ++pages) {
        if (pages == limits.max_pages) {
            throw sessions->shared().error(Failure::limit, "its list of tools has more than " +
                                                               std::to_string(limits.max_pages) +
                                                               " pages, which is ClientOptions::max_pages");
        }
        detail::Outgoing request{"tools/list", {}, "the list of tools"};
        if (!cursor.empty()) {  // the limit is one for all pages
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            options.timeout = std::max(left, std::chrono::milliseconds(1));
            request.members = "\"cursor\":" + detail::quotedJson(cursor);
        }
        Task<json::object> asked = ask(sessions, std::move(request), options);
        const json::object page = co_await std::move(asked);
        try {
            detail::readTools(page, tools);
        } catch (const std::runtime_error& error) {
            throw sessions->shared().error(Failure::connection, error.what());
        }
        if (tools.size() > limits.max_tools) {
            throw sessions->shared().error(Failure::limit, "it has more than " + std::to_string(limits.max_tools) +
                                                               " tools, which is ClientOptions::max_tools");
        }
        cursor = detail::stringOf(page, "nextCursor");
        if (cursor.empty()) co_return tools;
    }
}

template <class Sessions>
Task<CallResult> callOne(std::shared_ptr<Sessions> sessions, std::string name, Value arguments, CallOptions options) {
    detail::Outgoing request{"tools/call", {}, "the tool '" + name + "'"};
    const std::string text = arguments.isNull() ? "{}" : arguments.toJson();
    if (!text.starts_with('{'))
        throw InvalidArgumentError("the arguments of " + request.what + " must be a map, and are " +
                                   detail::quotedPart(text, 100));
    request.members = "\"name\":" + detail::quotedJson(name) + ",\"arguments\":" + text;
    const std::string what = request.what;
    Task<json::object> asked = ask(sessions, std::move(request), std::move(options));
    const json::object answer = co_await std::move(asked);
    try {
        co_return detail::readResult(answer);
    } catch (const std::exception& error) {
        throw sessions->shared().error(Failure::connection,
                                       what + " gave a result that cannot be read: " + error.what());
    }
}

void check(const ClientOptions& options) {
    const auto isTime = [](std::chrono::milliseconds time) {
        return time > std::chrono::milliseconds(0) && time <= std::chrono::hours(24 * 365);
    };
    if (!isTime(options.connect_timeout) || !isTime(options.timeout)) {
        throw InvalidArgumentError("ClientOptions::connect_timeout and timeout must be more than 0 and at most a year");
    }
    for (const std::size_t limit : {options.max_message_bytes, options.max_unsent_bytes, options.max_waiting,
                                    options.max_tools, options.max_pages}) {
        if (limit == 0) throw InvalidArgumentError("the limits of ClientOptions must be more than 0");
    }
}

}  // namespace

Client::Client(Transport transport, ClientOptions options) {
    check(options);
    if (!transport.connector()) throw InvalidArgumentError("the client needs a server: mcp::process({.command = …})");
    impl_ = std::make_shared<Impl>(std::move(transport), std::move(options));
}

Task<std::vector<ToolInfo>> Client::asyncListTools(CallOptions options) const {
    return listAll(impl_, std::move(options));
}
std::vector<ToolInfo> Client::listTools(CallOptions options) const {
    return syncWait(asyncListTools(std::move(options)));
}

Task<CallResult> Client::asyncCallTool(std::string name, Value arguments, CallOptions options) const {
    return callOne(impl_, std::move(name), std::move(arguments), std::move(options));
}
CallResult Client::callTool(std::string name, Value arguments, CallOptions options) const {
    return syncWait(asyncCallTool(std::move(name), std::move(arguments), std::move(options)));
}

std::uint64_t Client::listChanges() const noexcept { return impl_->shared().list_changes.load(); }
std::uint64_t Client::starts() const noexcept { return impl_->shared().starts.load(); }
std::optional<ServerInfo> Client::serverInfo() const { return impl_->info(); }
void Client::close() const { impl_->close(); }

}  // namespace stategraph::mcp
