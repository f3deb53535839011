#include "langgraph/call.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/identifiers.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

Body Call::bodyIfGiven() const {
    const bool is_empty = request_.body.find_first_not_of(" \t\r\n") == std::string_view::npos;
    return is_empty ? Body({}, {}) : body();
}

std::string Call::parameter(const std::string& name) const {
    const auto found = request_.query.find(name);
    return found == request_.query.end() ? std::string() : found->second;
}

std::vector<std::string> Call::parameters(const std::string& name) const {
    const auto found = request_.lists.find(name);
    return found == request_.lists.end() ? std::vector<std::string>() : found->second;
}

bool Call::flag(const std::string& name) const {
    const std::string text = parameter(name);
    return !text.empty() && flagOf(name, text);
}

void Call::countStored(std::size_t runs) const {
    const auto wait = service_.server.count(request_.identity, request_.request.remote(), request_.body.size(), runs);
    if (wait) throw TooManyRequests(*wait);
}

std::string Call::owner() const {
    if (!service_.server.areOwned()) return {};
    if (!request_.identity || request_.identity->name.empty())
        throw ApiError(401, "Threads of this server belong to users, and the request names none");
    return request_.identity->name;
}

ThreadRecord Call::thread() const { return thread(id(0)); }

ThreadRecord Call::thread(const std::string& thread_id) const {
    if (!isUuid(thread_id)) throw InvalidRequest("Invalid thread ID: must be a UUID");
    const std::string asking = owner();
    std::optional<ThreadRecord> found = service_.records.thread(thread_id);
    if (!found || (!asking.empty() && found->owner != asking))
        throw NotFound("Thread with ID " + thread_id + " not found");
    return *std::move(found);
}

bool Call::isAnothers(const std::string& thread_id) const {
    const std::string asking = owner();
    if (asking.empty()) return false;
    return std::ranges::any_of(service_.graphs, [&](const auto& each) {
        const serve::ThreadOwner found = each.second->graph->endpoint()->ownerOf(ThreadId(thread_id));
        return found.is_begun && found.name != asking;
    });
}

const ServedGraph* Call::graphOf(const ThreadRecord& thread) const {
    const std::string id = thread.graphId();
    if (id.empty()) return nullptr;
    const ServedGraph* const graph = service_.graph(id);
    if (graph == nullptr) throw NotFound("This server has no graph '" + id + "'");
    return graph;
}

serve::HandlerAnswer answerOf(const json::value& value, int status) {
    return {.status = status, .content_type = "application/json", .body = stategraph::detail::jsonText(value)};
}

serve::HandlerAnswer noContent() { return {.status = 204, .content_type = "application/json"}; }

serve::HandlerAnswer pageOf(json::array items, std::size_t offset, std::size_t total) {
    const std::size_t next = offset + items.size();
    serve::HandlerAnswer answer = answerOf(std::move(items));
    answer.headers.emplace_back("X-Pagination-Total", std::to_string(total));
    if (next < total) answer.headers.emplace_back("X-Pagination-Next", std::to_string(next));
    return answer;
}

json::object selected(json::object object, const std::vector<std::string>& names) {
    if (names.empty()) return object;
    json::object some;
    for (const std::string& each : names) {
        if (json::value* const found = object.if_contains(each)) some.insert_or_assign(each, std::move(*found));
    }
    for (const std::string& each : names) {
        const std::size_t dot = std::min(each.find('.'), each.size());
        const std::string whole = each.substr(0, dot);
        if (dot == each.size() || std::ranges::find(names, whole) != names.end()) continue;
        const json::value* const outer = object.if_contains(whole);
        if (outer == nullptr || !outer->is_object()) continue;
        json::value& kept = some.emplace(whole, json::object()).first->value();
        const std::string member = each.substr(dot + 1);
        if (const json::value* const found = outer->get_object().if_contains(member))
            kept.get_object()[member] = *found;
    }
    return some;
}

}  // namespace stategraph::langgraph
