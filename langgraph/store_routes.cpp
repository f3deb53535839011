#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
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

// How much of the store is read at once.
constexpr std::size_t page_max = 100;

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

/// The namespaces of clients below a prefix that is empty, or the prefix.
std::vector<StoreNamespace> visibleBelow(BaseStore& store, StoreNamespace prefix) {
    if (!prefix.empty()) return {std::move(prefix)};
    NamespaceQuery query{.max_depth = 1, .limit = page_max};
    std::vector<StoreNamespace> visible;
    for (;; query.offset += query.limit) {
        const auto page = store.listNamespaces(query);
        std::ranges::remove_copy_if(page, std::back_inserter(visible), isHidden);
        if (page.size() < query.limit) return visible;
    }
}

bool isBefore(const SearchItem& a, const SearchItem& b) {
    return a.score && b.score ? *a.score > *b.score : a.score.has_value() && !b.score;
}

/// Items below several namespaces, by their scores: the first `count` of all.
std::vector<SearchItem> rankedItems(BaseStore& store, SearchQuery query, const std::vector<StoreNamespace>& below,
                                    std::size_t count) {
    std::vector<SearchItem> found;
    query.limit = std::min(count, store_limits::limit_max);
    for (const StoreNamespace& each : below) {
        query.namespace_prefix = each;
        std::ranges::move(store.search(query), std::back_inserter(found));
        std::ranges::stable_sort(found, isBefore);
        if (found.size() > count) found.resize(count);
    }
    return found;
}

/// Items below several namespaces in the order of these: `count` of them after the first `skipped`.
std::vector<SearchItem> listedItems(BaseStore& store, SearchQuery query, const std::vector<StoreNamespace>& below,
                                    std::size_t skipped, std::size_t count) {
    std::vector<SearchItem> found;
    for (const StoreNamespace& each : below) {
        query.namespace_prefix = each;
        query.offset = 0;
        for (bool has_more = true; has_more && found.size() < count;) {
            query.limit = std::min(page_max, skipped + count - found.size());
            auto page = store.search(query);
            has_more = page.size() == query.limit;
            query.offset += page.size();
            const std::size_t passed = std::min(skipped, page.size());
            skipped -= passed;
            std::move(page.begin() + static_cast<std::ptrdiff_t>(passed), page.end(), std::back_inserter(found));
        }
    }
    return found;
}

serve::HandlerAnswer searchItems(const Call& call) {
    const Body body = call.bodyIfGiven();
    BaseStore& store = storeOf(call);
    const std::size_t limit = body.number("limit", 1, 1000).value_or(10);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    SearchQuery query{.namespace_prefix = namespaceIn(body, "namespace_prefix"), .filter = filterIn(body)};
    query.query = body.text("query");
    if (body.has("refresh_ttl")) query.refresh_ttl = body.flag("refresh_ttl", true);
    std::vector<SearchItem> found;
    if (!query.namespace_prefix.empty()) {
        query.limit = limit;
        query.offset = offset;
        found = store.search(query);
    } else if (query.query) {
        found = rankedItems(store, query, visibleBelow(store, {}), offset + limit);
        found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(std::min(offset, found.size())));
    } else {
        found = listedItems(store, query, visibleBelow(store, {}), offset, limit);
    }
    json::array items;
    for (const SearchItem& each : found) {
        if (isHidden(each.ns)) continue;
        json::object item = itemJson(each);
        if (each.score) item["score"] = *each.score;
        items.push_back(std::move(item));
    }
    return answerOf(json::object{{"items", std::move(items)}});
}

serve::HandlerAnswer listNamespaces(const Call& call) {
    const Body body = call.bodyIfGiven();
    BaseStore& store = storeOf(call);
    const std::size_t limit = body.number("limit", 1, 1000).value_or(100);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    NamespaceQuery query{.suffix = body.texts("suffix")};
    query.max_depth = body.number("max_depth", 1, store_limits::labels_max);
    query.limit = page_max;
    json::array found;
    std::size_t seen = 0;
    for (StoreNamespace& prefix : visibleBelow(store, namespaceIn(body, "prefix"))) {
        query.prefix = std::move(prefix);
        query.offset = 0;
        for (bool has_more = true; has_more && found.size() < limit; query.offset += query.limit) {
            const auto page = store.listNamespaces(query);
            has_more = page.size() == query.limit;
            for (const StoreNamespace& each : page) {
                if (isHidden(each) || seen++ < offset || found.size() >= limit) continue;
                json::array labels;
                for (const std::string& label : each) labels.emplace_back(label);
                found.push_back(std::move(labels));
            }
        }
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
