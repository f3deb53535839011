#include <stategraph/store.hpp>

#include <utility>

#include "storage/store/check.hpp"

namespace stategraph {

std::vector<StoreResult> BaseStore::batch(std::span<const StoreOp> ops) {
    stores::checkOps(ops);
    return apply(ops);
}

void BaseStore::put(StoreNamespace ns, std::string key, Value value, PutOptions options) {
    const StoreOp op = PutOp{std::move(ns), std::move(key), std::move(value), std::move(options)};
    batch(std::span(&op, 1));
}

std::optional<StoreItem> BaseStore::get(StoreNamespace ns, std::string key, std::optional<bool> refresh_ttl) {
    const StoreOp op = GetOp{std::move(ns), std::move(key), refresh_ttl};
    return std::move(batch(std::span(&op, 1)).front().item);
}

void BaseStore::remove(StoreNamespace ns, std::string key) {
    const StoreOp op = PutOp{std::move(ns), std::move(key), {}, {}};
    batch(std::span(&op, 1));
}

std::vector<SearchItem> BaseStore::search(const SearchQuery& query) {
    const StoreOp op = query;
    return std::move(batch(std::span(&op, 1)).front().items);
}

std::vector<StoreNamespace> BaseStore::listNamespaces(const NamespaceQuery& query) {
    const StoreOp op = query;
    return std::move(batch(std::span(&op, 1)).front().namespaces);
}

}  // namespace stategraph
