#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/store.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/call.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/records.hpp"

// The store, without what the server keeps in it.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

json::object itemJson(const StoreItem& item) {
    json::array ns;
    for (const std::string& each : item.ns) ns.emplace_back(each);
    return {{"namespace", std::move(ns)},
            {"key", item.key},
            {"value", toJsonValue(item.value)},
            {"created_at", isoTime(item.created_at, 6)},
            {"updated_at", isoTime(item.updated_at, 6)}};
}

bool isHidden(const StoreNamespace& ns) { return !ns.empty() && ns.front() == records_label; }

/// The store, for whom it is open: items belong to nobody, so it is closed where threads belong to users.
BaseStore& storeOf(const Call& call) {
    if (!call.owner().empty())
        throw ApiError(403,
                       "The store has no owners, so clients of a server whose threads belong to users cannot use it");
    return *call.service().options.store;
}

StoreNamespace namespaceIn(const Body& body, std::string_view name) {
    StoreNamespace ns = body.texts(name);
    if (isHidden(ns)) body.refuse(name, std::string("the label '") + records_label + "' is the server's own");
    return ns;
}

/// The namespace of an item. It has labels, and they have no dots.
StoreNamespace itemNamespace(const Body& body) {
    StoreNamespace ns = namespaceIn(body, "namespace");
    if (ns.empty()) throw ApiError(400, "namespace: must have at least one label");
    return ns;
}

std::string keyIn(const Body& body) {
    const std::optional<std::string> key = body.text("key");
    if (!key) body.refuse("key", "is required");
    return *key;
}

serve::HandlerAnswer putItem(const Call& call) {
    call.countStored();
    const Body body = call.body();
    BaseStore& store = storeOf(call);
    StoreNamespace ns = itemNamespace(body);
    if (!body.has("value")) body.refuse("value", "is required");
    PutOptions options;
    if (const json::value* const minutes = body.find("ttl")) {
        constexpr double most = 52'560'000;  // a hundred years
        const double ttl = minutes->is_number() ? minutes->to_number<double>() : -1;
        if (!(ttl >= 0 && ttl <= most)) body.refuse("ttl", "must be a number of minutes");
        options.ttl = std::chrono::milliseconds(std::llround(ttl * 60'000));
    }
    if (const json::value* const index = body.find("index")) {
        options.index = index->is_bool() ? std::vector<std::string>() : body.texts("index");
        if (*index == json::value(true)) options.index.reset();
    }
    store.put(std::move(ns), keyIn(body), Value(json::value(body.object("value"))), std::move(options));
    return noContent();
}

serve::HandlerAnswer getItem(const Call& call) {
    BaseStore& store = storeOf(call);
    StoreNamespace ns;
    std::string labels = call.parameter("namespace");
    while (!labels.empty()) {
        const std::size_t dot = std::min(labels.find('.'), labels.size());
        ns.push_back(labels.substr(0, dot));
        labels.erase(0, dot + 1);
    }
    if (ns.empty() || isHidden(ns)) throw InvalidRequest("namespace: must name labels of clients, joined by dots");
    std::optional<bool> refresh;
    if (!call.parameter("refresh_ttl").empty()) refresh = call.flag("refresh_ttl");
    const auto item = store.get(std::move(ns), call.parameter("key"), refresh);
    return answerOf(item ? json::value(itemJson(*item)) : json::value());
}

serve::HandlerAnswer removeItem(const Call& call) {
    const Body body = call.body();
    storeOf(call).remove(itemNamespace(body), keyIn(body));
    return noContent();
}

StoreFilter filterIn(const Body& body) {
    const json::object filter = body.object("filter");
    return filter.empty() ? StoreFilter() : StoreFilter::parse(Value(json::value(filter)));
}

serve::HandlerAnswer searchItems(const Call& call) {
    const Body body = call.bodyIfGiven();
    BaseStore& store = storeOf(call);
    const std::size_t limit = body.number("limit", 1, 1000).value_or(10);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    SearchQuery query{.namespace_prefix = namespaceIn(body, "namespace_prefix"), .filter = filterIn(body)};
    query.query = body.text("query");
    if (body.has("refresh_ttl")) query.refresh_ttl = body.flag("refresh_ttl", true);
    const bool hides = query.namespace_prefix.empty();  // the server's own items are among those found
    query.limit = hides ? store_limits::limit_max : limit;
    query.offset = hides ? 0 : offset;
    json::array items;
    std::size_t seen = 0;
    for (;;) {
        const auto page = store.search(query);
        for (const SearchItem& each : page) {
            if (isHidden(each.ns) || (hides && seen++ < offset) || items.size() >= limit) continue;
            json::object item = itemJson(each);
            if (each.score) item["score"] = *each.score;
            items.push_back(std::move(item));
        }
        if (!hides || page.size() < query.limit || items.size() >= limit) break;
        query.offset += page.size();
    }
    return answerOf(json::object{{"items", std::move(items)}});
}

serve::HandlerAnswer listNamespaces(const Call& call) {
    const Body body = call.bodyIfGiven();
    BaseStore& store = storeOf(call);
    const std::size_t limit = body.number("limit", 1, 1000).value_or(100);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    NamespaceQuery query{.prefix = namespaceIn(body, "prefix"), .suffix = body.texts("suffix")};
    query.max_depth = body.number("max_depth", 1, store_limits::labels_max);
    query.limit = store_limits::limit_max;
    json::array found;
    std::size_t seen = 0;
    for (;;) {
        const auto page = store.listNamespaces(query);
        for (const StoreNamespace& each : page) {
            if (isHidden(each) || seen++ < offset || found.size() >= limit) continue;
            json::array labels;
            for (const std::string& label : each) labels.emplace_back(label);
            found.push_back(std::move(labels));
        }
        if (page.size() < query.limit || found.size() >= limit) break;
        query.offset += page.size();
    }
    return answerOf(json::object{{"namespaces", std::move(found)}});
}

}  // namespace

std::span<const Row> storeRows() {
    static constexpr Row rows[] = {
        {"PUT", "/store/items", &putItem},
        {"GET", "/store/items", &getItem},
        {"DELETE", "/store/items", &removeItem},
        {"POST", "/store/items/search", &searchItems},
        {"POST", "/store/namespaces", &listNamespaces},
    };
    return rows;
}

}  // namespace stategraph::langgraph
