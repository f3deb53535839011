#include "mcp/session.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <stategraph/version.hpp>

namespace stategraph::mcp::detail {

namespace json = boost::json;

namespace {

/// The versions that this client reads, the newest first.
constexpr std::array<std::string_view, 3> versions{"2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::int64_t initialize_id = 0;
/// Some servers write other lines to their standard output by mistake; a server that writes nothing else is refused.
constexpr std::size_t max_unreadable = 100;
constexpr std::size_t max_progress = 64;
constexpr std::size_t max_progress_bytes = 4096;  // of a report's message
constexpr int method_not_found = -32601;

std::string initializeParams() {
    const std::string version = std::to_string(STATEGRAPH_VERSION_MAJOR) + "." +
                                std::to_string(STATEGRAPH_VERSION_MINOR) + "." +
                                std::to_string(STATEGRAPH_VERSION_PATCH);
    return R"({"protocolVersion":")" + std::string(versions.front()) +
           R"(","capabilities":{},"clientInfo":{"name":"stategraph","version":")" + version + "\"}}";
}

}  // namespace

McpError Shared::error(Failure failure, std::string_view text, std::int64_t code) const {
    return {failure, "MCP server '" + options.name + "': " + redacted(std::string(text)), code};
}

std::string Shared::redacted(std::string text) const {
    constexpr std::string_view instead = "…";
    for (const std::string& secret : secrets) {
        for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + instead.size()))
            text.replace(at, secret.size(), instead);
    }
    return text;
}

Session::Session(std::shared_ptr<Shared> shared, const Connector& connector)
    : shared_(std::move(shared)), connect_deadline_(stategraph::detail::after(shared_->options.connect_timeout)) {
    const ClientOptions& options = shared_->options;
    const stategraph::detail::LockGuard lock(mutex_);  // so that no message is read before the wire is known
    try {
        wire_ =
            connector.connect(*this, {options.max_message_bytes, options.max_unsent_bytes, options.connect_timeout});
        shared_->starts.fetch_add(1, std::memory_order_relaxed);
    } catch (const std::exception& error) {
        throw shared_->error(Failure::connection, error.what());
    }
    (void)wire_->send(requestText(initialize_id, "initialize", initializeParams()), initialize_id);
}

std::shared_ptr<Pending> Session::begin(const Outgoing& request) {
    const stategraph::detail::LockGuard lock(mutex_);
    const ClientOptions& options = shared_->options;
    if (state_ == State::dead) throw shared_->error(Failure::connection, request.what + " cannot be called: " + why_);
    if (pending_.size() >= options.max_waiting) {
        throw shared_->error(Failure::limit, request.what + " cannot be called while " +
                                                 std::to_string(options.max_waiting) +
                                                 " other calls wait; call it later, or raise max_waiting");
    }
    auto pending = std::make_shared<Pending>();
    pending->id = ++last_id_;
    pending->what = request.what;
    std::string params = "{" + request.members;
    if (request.wants_progress) {
        params += (request.members.empty() ? "" : ",");
        params += "\"_meta\":{\"progressToken\":" + std::to_string(pending->id) + "}";
    }
    std::string text = requestText(pending->id, request.method, params + "}");
    pending_.emplace(pending->id, pending);  // the answer may come before `send` returns
    bool fits = false;
    try {
        fits = sendOrHold(pending->id, std::move(text));
    } catch (const std::exception& error) {
        pending_.erase(pending->id);
        throw shared_->error(Failure::connection, request.what + " cannot be called: " + error.what());
    }
    if (!fits) {
        pending_.erase(pending->id);
        throw shared_->error(Failure::limit,
                             request.what + " cannot be called: the server does not read what was sent before, and " +
                                 "max_unsent_bytes would be exceeded");
    }
    return pending;
}

bool Session::sendOrHold(std::int64_t id, std::string text) {
    if (state_ == State::ready) return wire_->send(std::move(text), id);
    if (held_bytes_ + text.size() > shared_->options.max_unsent_bytes) return false;
    held_bytes_ += text.size();
    held_.emplace_back(id, std::move(text));
    return true;
}

News Session::look(Pending& request) {
    const stategraph::detail::LockGuard lock(mutex_);
    News news;
    news.progress.assign(std::make_move_iterator(request.progress.begin()),
                         std::make_move_iterator(request.progress.end()));
    request.progress.clear();
    news.is_over = request.is_over;
    news.error = request.error;
    if (request.is_over) news.result = std::move(request.result);
    return news;
}

void Session::cancel(Pending& request, std::string_view reason) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    if (request.is_over || pending_.erase(request.id) == 0) return;
    request.is_over = true;
    const auto held =
        std::find_if(held_.begin(), held_.end(), [&](const auto& each) { return each.first == request.id; });
    if (held != held_.end()) {
        held_bytes_ -= held->second.size();
        held_.erase(held);
        return;
    }
    if (state_ != State::ready) return;
    try {
        // If it does not fit, the server does not read, and the notification would not help.
        (void)wire_->send(notificationText("notifications/cancelled", "{\"requestId\":" + std::to_string(request.id) +
                                                                          ",\"reason\":" + quotedJson(reason) + "}"),
                          no_request);
    } catch (const std::exception&) {
        // Without memory the server is not notified. Its answer is ignored.
    }
    wire_->abandon(request.id);
}

Clock::time_point Session::wakeAt(Clock::time_point deadline) {
    const stategraph::detail::LockGuard lock(mutex_);
    return state_ == State::connecting ? std::min(deadline, connect_deadline_) : deadline;
}

std::string Session::unreadableLines() const {
    const stategraph::detail::LockGuard lock(mutex_);
    if (unreadable_ == 0) return {};
    return "; it has sent " + std::to_string(unreadable_) +
           (unreadable_ == 1 ? " line that is no message" : " lines that are no messages") +
           " of JSON-RPC 2.0, the last one: " + last_unreadable_;
}

void Session::checkConnecting(Clock::time_point now) {
    const stategraph::detail::LockGuard lock(mutex_);
    if (state_ == State::connecting && now >= connect_deadline_) {
        die("it did not answer `initialize` within " + std::to_string(shared_->options.connect_timeout.count()) +
            " ms, which is ClientOptions::connect_timeout");
    }
}

bool Session::wait(Pending& request, stategraph::detail::Wakeup& waiter) {
    const stategraph::detail::LockGuard lock(mutex_);
    if (request.is_over || !request.progress.empty()) return false;
    request.waiter = &waiter;
    return true;
}

void Session::stopWaiting(Pending& request) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    request.waiter = nullptr;
}

bool Session::isDead() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return state_ == State::dead;
}

std::string Session::whyDead() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return why_;
}

std::optional<ServerInfo> Session::info() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return info_;
}

void Session::notify(Pending& request) noexcept {
    if (request.waiter != nullptr) request.waiter->wake();
}

std::exception_ptr Session::noAnswer(const Pending& request, std::string_view why) const noexcept {
    try {
        throw shared_->error(Failure::connection, request.what + " has no answer: " + std::string(why));
    } catch (...) {
        return std::current_exception();
    }
}

void Session::finish(Pending& request, std::exception_ptr error) noexcept {
    request.is_over = true;
    request.error = std::move(error);
    notify(request);
}

void Session::die(std::string_view why) noexcept {
    if (state_ == State::dead) return;
    state_ = State::dead;
    try {
        why_ = why;
    } catch (const std::exception&) {  // without memory, later errors do not say why
    }
    held_.clear();
    for (auto& [id, request] : pending_) finish(*request, noAnswer(*request, why));
    pending_.clear();
    if (wire_) wire_->end();
}

void Session::sendOrDie(std::string text) {
    if (!wire_->send(std::move(text), no_request))
        die("it does not read the answers to its own requests, and max_unsent_bytes would be exceeded");
}

void Session::end(std::string_view why) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    die(why);
}

void Session::close(std::string_view why) noexcept {
    end(why);
    if (wire_) wire_->close();
}

void Session::onMessage(std::string_view text) noexcept {
    try {
        std::vector<Incoming> messages = readMessages(text);
        const stategraph::detail::LockGuard lock(mutex_);
        for (Incoming& message : messages) {
            if (state_ == State::dead) return;
            take(std::move(message), text);
        }
    } catch (const std::exception& error) {
        const stategraph::detail::LockGuard lock(mutex_);
        die(joined("a message cannot be read: ", error.what()));
    }
}

void Session::onFailed(std::int64_t request, std::string_view why) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    if (request == initialize_id && state_ == State::connecting) return die(why);
    const auto found = pending_.find(request);
    if (found == pending_.end()) return;
    finish(*found->second, noAnswer(*found->second, why));
    pending_.erase(found);
}

bool Session::isAwaited(std::int64_t request) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    if (request == initialize_id) return state_ == State::connecting;
    return pending_.contains(request);
}

void Session::onBroken(std::string_view why) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    die(why);
}

void Session::take(Incoming&& message, std::string_view text) {
    using Kind = Incoming::Kind;
    switch (message.kind) {
        case Kind::result:
        case Kind::error:
            if (state_ == State::connecting &&
                (message.id == initialize_id || (message.kind == Kind::error && !message.has_id))) {
                takeVersion(std::move(message));
            } else {
                takeAnswer(std::move(message));
            }
            break;
        case Kind::request:
            takeRequest(message);
            break;
        case Kind::notification:
            takeNotification(message);
            break;
        case Kind::unreadable:
            last_unreadable_ = quotedPart(text);
            failUnread(message);
            if (++unreadable_ >= max_unreadable) {
                die("it sent " + std::to_string(max_unreadable) +
                    " lines that are no messages of JSON-RPC 2.0; the last one: " + last_unreadable_);
            }
            break;
    }
}

void Session::takeVersion(Incoming&& message) {
    if (message.kind == Incoming::Kind::error)
        return die("it refused `initialize`: " + quotedPart(shared_->redacted(message.error_text)));
    const std::string version = stringOf(message.content, "protocolVersion");
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) {
        return die("it speaks version '" + quotedPart(version, 40) + "' of the protocol, and this client speaks " +
                   std::string(versions.back()) + " to " + std::string(versions.front()));
    }
    ServerInfo info;
    if (const json::object* const server = objectIn(message.content, "serverInfo")) {
        info.name = stringOf(*server, "name");
        info.version = stringOf(*server, "version");
    }
    info.protocol_version = version;
    info.instructions = stringOf(message.content, "instructions");
    info_ = std::move(info);
    state_ = State::ready;
    wire_->setVersion(version);
    sendOrDie(notificationText("notifications/initialized", {}));
    while (state_ == State::ready && !held_.empty()) {
        auto [id, text] = std::move(held_.front());
        held_.pop_front();
        held_bytes_ -= text.size();
        if (!wire_->send(std::move(text), id)) die("it does not read, and max_unsent_bytes would be exceeded");
    }
}

void Session::failUnread(const Incoming& message) {
    if (message.id < 0) return;
    const std::string why = "its answer cannot be read: " + message.error_text + "; it begins: " + last_unreadable_;
    if (message.id == initialize_id && state_ == State::connecting) return die(why);
    const auto found = pending_.find(message.id);
    if (found == pending_.end()) return;
    finish(*found->second, noAnswer(*found->second, why));
    pending_.erase(found);
}

void Session::takeAnswer(Incoming&& message) {
    // A server that could not read a request does not know its id. It is the only one, or not known here either.
    const bool is_only = message.kind == Incoming::Kind::error && !message.has_id && pending_.size() == 1;
    const auto found = is_only ? pending_.begin() : pending_.find(message.id);
    if (found == pending_.end()) return;  // it was cancelled, or answered before, or never made
    const std::shared_ptr<Pending> request = std::move(found->second);
    pending_.erase(found);
    has_answered_.store(true, std::memory_order_relaxed);
    if (message.kind == Incoming::Kind::result) {
        request->result = std::move(message.content);
        finish(*request, nullptr);
    } else {
        finish(*request, std::make_exception_ptr(shared_->error(
                             Failure::refused,
                             request->what + " was refused: " + shared_->redacted(message.error_text).substr(0, 4096) +
                                 " (code " + std::to_string(message.error_code) + ")",
                             message.error_code)));
    }
}

void Session::takeRequest(const Incoming& message) {
    if (message.method == "ping") return sendOrDie(answerText(message.request_id, "{}"));
    sendOrDie(refusalText(message.request_id, method_not_found,
                          "this client has no method " + message.method.substr(0, 100)));
}

void Session::takeNotification(const Incoming& message) {
    if (message.method == "notifications/tools/list_changed") {
        shared_->list_changes.fetch_add(1, std::memory_order_relaxed);
    } else if (message.method == "notifications/progress") {
        const auto found = pending_.find(idOf(message.content, "progressToken"));
        const auto progress = numberOf(message.content, "progress");
        if (found == pending_.end() || !progress) return;
        std::deque<Progress>& reports = found->second->progress;
        if (reports.size() == max_progress) reports.pop_front();
        std::string text = stringOf(message.content, "message");
        if (text.size() > max_progress_bytes) text.clear();
        reports.push_back({*progress, numberOf(message.content, "total"), std::move(text)});
        notify(*found->second);
    }
}

}  // namespace stategraph::mcp::detail
