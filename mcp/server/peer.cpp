#include "mcp/server/peer.hpp"

#include <utility>
#include <vector>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>

#include "mcp/server/versions.hpp"

namespace stategraph::mcp::detail {

namespace json = boost::json;

namespace {

constexpr std::size_t id_max = 256;            // bytes of the id of a request, or of a progress token
constexpr std::size_t list_fresh_ms = 60'000;  // how long clients may keep the list of tools

/// A client's name of a request or a progress: a text or a number as JSON. Empty: it is neither, or too long.
std::string nameIn(const json::value* value) {
    if (value == nullptr || !(value->is_string() || value->is_number())) return {};
    std::string text = stategraph::detail::jsonText(*value);
    return text.size() <= id_max ? text : std::string();
}

json::value const* memberOf(const json::object& object, std::string_view name) { return object.if_contains(name); }

bool isId(std::string_view json) {
    return !json.empty() && json.size() <= id_max &&
           (json.front() == '"' || json.front() == '-' || (json.front() >= '0' && json.front() <= '9'));
}

/// Whether a client with these capabilities shows forms to people.
bool asksPeople(const json::object& capabilities) {
    const json::object* const elicitation = objectIn(capabilities, "elicitation");
    return elicitation != nullptr &&
           (elicitation->empty() || elicitation->contains("form") || !elicitation->contains("url"));
}

json::object capabilities() { return {{"tools", json::object()}}; }

}  // namespace

std::string errorText(std::string_view id, int code, std::string_view message, const json::object& data) {
    const json::object error{{"code", code}, {"message", message}, {"data", data}};
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) + ",\"error\":" + stategraph::detail::jsonText(error) + "}";
}

void Peer::take(Incoming message, const std::shared_ptr<Outlet>& outlet,
                const std::optional<serve::Identity>& identity) {
    switch (message.kind) {
        case Incoming::Kind::request:
            return takeRequest({std::move(message), outlet, identity});
        case Incoming::Kind::notification:
            if (message.method == "notifications/cancelled") cancel(message.content);
            return outlet->finish({});
        case Incoming::Kind::result:
        case Incoming::Kind::error:
            takeAnswer(message);
            return outlet->finish({});
        case Incoming::Kind::unreadable:
            break;
    }
    const int code = message.is_json ? invalid_request : not_json;
    std::string why = "the message is no JSON-RPC 2.0";
    if (!message.error_text.empty()) why += ": " + message.error_text;
    outlet->finish(refusalText("null", code, why), code);
}

void Peer::takeRequest(Request request) {
    if (!isId(request.message.request_id)) {
        request.message.request_id = "null";
        return refuse(request, invalid_request,
                      "the id of a request is a text or a number of at most " + std::to_string(id_max) + " bytes");
    }
    if (!readMeta(request)) return;
    const std::string& method = request.message.method;
    if (request.is_modern && method == "server/discover") return discover(request);
    if (!request.is_modern && method == "initialize") return initialize(request);
    if (!request.is_modern && method == "ping") return answer(request, {});
    const bool is_tools = method == "tools/list" || method == "tools/call";
    if (!is_tools)
        return refuse(request, unknown_method, "this server has no method '" + quotedPart(method, 100) + "'");
    if (!request.is_modern) {
        if (version().empty())
            return refuse(request, invalid_request,
                          "send 'initialize' first, or say in _meta that you speak " + std::string(modern_version));
        const stategraph::detail::LockGuard lock(mutex_);
        request.can_ask = can_ask_;
    }
    if (method == "tools/list") return list(request);
    call(request);
}

bool Peer::readMeta(Request& request) const {
    const json::object* const meta = objectIn(request.message.content, "_meta");
    const json::value* const version = meta == nullptr ? nullptr : memberOf(*meta, version_key);
    if (version == nullptr) return true;
    request.is_modern = true;
    const std::string wanted = stringOf(*meta, version_key);
    if (wanted != modern_version) {
        json::array supported{modern_version};
        for (const std::string_view each : session_versions) supported.push_back(json::string(each));
        request.outlet->finish(
            errorText(request.message.request_id, unsupported_version, "Unsupported protocol version",
                      {{"supported", std::move(supported)}, {"requested", quotedPart(wanted, 100)}}),
            unsupported_version);
        return false;
    }
    const json::object* const capabilities = objectIn(*meta, capabilities_key);
    if (capabilities == nullptr) {
        refuse(request, invalid_params, "_meta lacks \"" + std::string(capabilities_key) + "\"");
        return false;
    }
    request.can_ask = asksPeople(*capabilities);
    return true;
}

void Peer::initialize(const Request& request) {
    const json::object& params = request.message.content;
    const std::string wanted = stringOf(params, "protocolVersion");
    const std::string agreed(isSessionVersion(wanted) ? wanted : session_versions.front());
    const json::object* const able = objectIn(params, "capabilities");
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (!version_.empty()) return refuse(request, invalid_request, "the session was initialized before");
        version_ = agreed;
        // Older versions do not have it.
        can_ask_ = able != nullptr && asksPeople(*able) && agreed >= "2025-06-18";
    }
    json::object result{{"protocolVersion", agreed}, {"capabilities", capabilities()}, {"serverInfo", offer_->info()}};
    if (!offer_->options().instructions.empty()) result["instructions"] = offer_->options().instructions;
    answer(request, std::move(result));
}

void Peer::discover(const Request& request) const {
    json::object result{{"supportedVersions", json::array{modern_version}},
                        {"capabilities", capabilities()},
                        {"ttlMs", list_fresh_ms},
                        {"cacheScope", "private"}};
    if (!offer_->options().instructions.empty()) result["instructions"] = offer_->options().instructions;
    answer(request, std::move(result));
}

void Peer::list(const Request& request) const {
    std::optional<json::object> page = offer_->page(stringOf(request.message.content, "cursor"));
    if (!page) return refuse(request, invalid_params, "the cursor is not one of this server's");
    if (request.is_modern) {
        (*page)["ttlMs"] = list_fresh_ms;
        (*page)["cacheScope"] = "private";
    }
    answer(request, *std::move(page));
}

std::optional<CallRequest> Peer::callOf(const Request& request) const {
    const json::object& params = request.message.content;
    const std::string name = stringOf(params, "name");
    CallRequest made{.id = request.message.request_id, .tool = offer_->find(name)};
    if (!made.tool) {
        refuse(request, invalid_params, "this server has no tool '" + quotedPart(name, 200) + "'");
        return {};
    }
    if (const json::value* const arguments = memberOf(params, "arguments"); arguments != nullptr) {
        if (!arguments->is_object()) {
            refuse(request, invalid_params, "the arguments of a call are an object");
            return {};
        }
        made.arguments = arguments->get_object();
    }
    if (const json::object* const meta = objectIn(params, "_meta"))
        made.progress_token = nameIn(memberOf(*meta, "progressToken"));
    made.is_modern = request.is_modern;
    made.can_ask = request.can_ask;
    made.identity = request.identity;
    if (!made.is_modern) return made;
    made.state = stringOf(params, "requestState");
    if (const json::object* const responses = objectIn(params, "inputResponses")) made.responses = *responses;
    return made;
}

void Peer::call(const Request& request) {
    std::optional<CallRequest> wanted = callOf(request);
    if (!wanted) return;
    const auto made = std::make_shared<Call>(*std::move(wanted), *offer_, request.outlet, runner_, weak_from_this());
    const std::size_t most = offer_->options().calls_max;
    std::string why;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (is_closed_) {
            why = "the session has ended";
        } else if (calls_.size() >= most) {
            why = "the client has as many calls under way as its limit allows (" + std::to_string(most) + ")";
        } else if (!calls_.emplace(made->id(), made).second) {
            why = "another request with the same id is under way";
        }
    }
    if (!why.empty()) return refuse(request, beyond_limit, why);
    made->begin();
}

void Peer::cancel(const json::object& params) noexcept {
    std::shared_ptr<Call> call;
    try {
        const std::string id = nameIn(memberOf(params, "requestId"));
        const stategraph::detail::LockGuard lock(mutex_);
        const auto found = calls_.find(id);
        if (found != calls_.end()) call = found->second;
    } catch (const std::exception&) {
    }
    if (call) call->cancel();
}

void Peer::takeAnswer(const Incoming& message) noexcept {
    std::shared_ptr<Call> call;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        const auto found = asking_.find(message.id);
        if (found == asking_.end()) return;
        call = std::move(found->second);
        asking_.erase(found);
    }
    const bool is_result = message.kind == Incoming::Kind::result;
    call->answered(is_result ? &message.content : nullptr, message.error_text);
}

void Peer::close() noexcept {
    std::map<std::string, std::shared_ptr<Call>> calls;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        is_closed_ = true;
        try {
            calls = calls_;
        } catch (const std::bad_alloc&) {  // the runs end with their server
        }
    }
    for (const auto& [id, call] : calls) call->cancel();
}

std::string Peer::version() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return version_;
}

bool Peer::hasCalls() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return !calls_.empty();
}

std::int64_t Peer::expect(const std::shared_ptr<Call>& call) {
    const stategraph::detail::LockGuard lock(mutex_);
    asking_.emplace(++last_id_, call);
    return last_id_;
}

void Peer::ended(const Call& call) noexcept {
    std::shared_ptr<Call> kept;  // is destroyed without the lock
    const stategraph::detail::LockGuard lock(mutex_);
    std::erase_if(asking_, [&](const auto& each) { return each.second.get() == &call; });
    const auto found = calls_.find(call.id());
    if (found == calls_.end() || found->second.get() != &call) return;
    kept = std::move(found->second);
    calls_.erase(found);
}

void Peer::answer(const Request& request, json::object result) const {
    if (request.is_modern) {
        result["resultType"] = "complete";
        result["_meta"] = {{server_key, offer_->info()}};
    }
    request.outlet->finish(answerText(request.message.request_id, stategraph::detail::jsonText(result)));
}

void Peer::refuse(const Request& request, int code, std::string_view why) {
    request.outlet->finish(refusalText(request.message.request_id, code, why), code);
}

}  // namespace stategraph::mcp::detail
