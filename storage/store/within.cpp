#include <algorithm>
#include <utility>

#include <stategraph/forwarding_store.hpp>

#include "storage/store/check.hpp"

namespace stategraph {
namespace {

class StoreWithin final : public ForwardingStore {
public:
    StoreWithin(std::shared_ptr<BaseStore> inner, StoreNamespace ns)
        : ForwardingStore(std::move(inner)), ns_(std::move(ns)) {}

protected:
    std::vector<StoreResult> apply(std::span<const StoreOp> ops) override {
        std::vector<StoreOp> outer(ops.begin(), ops.end());
        for (StoreOp& op : outer) std::visit([this](auto& each) { widen(each); }, op);
        auto results = ForwardingStore::apply(outer);
        for (StoreResult& result : results) {
            if (result.item) strip(result.item->ns);
            for (SearchItem& item : result.items) strip(item.ns);
            for (StoreNamespace& ns : result.namespaces) strip(ns);
            for (DamagedItem& item : result.damaged) {
                if (item.ns.size() >= ns_.size()) strip(item.ns);
            }
        }
        return results;
    }

private:
    void prepend(StoreNamespace& ns) const { ns.insert(ns.begin(), ns_.begin(), ns_.end()); }
    void strip(StoreNamespace& ns) const { ns.erase(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(ns_.size())); }

    void widen(GetOp& op) const { prepend(op.ns); }
    void widen(PutOp& op) const { prepend(op.ns); }
    void widen(SearchQuery& op) const { prepend(op.namespace_prefix); }
    void widen(NamespaceQuery& op) const {
        // The prefix is made long enough that the suffix fits inside, so that it does not reach out of this store.
        op.prefix.resize(std::max({op.prefix.size(), op.suffix.size(), std::size_t{1}}), "*");
        prepend(op.prefix);
        if (op.max_depth) op.max_depth = std::min(*op.max_depth, store_limits::labels_max) + ns_.size();
    }

    StoreNamespace ns_;
};

}  // namespace

std::shared_ptr<BaseStore> storeWithin(std::shared_ptr<BaseStore> inner, StoreNamespace ns) {
    if (!inner) throw InvalidArgumentError("storeWithin was given no store");
    stores::checkNamespace(ns);
    if (std::find(ns.begin(), ns.end(), "*") != ns.end()) {
        throw InvalidArgumentError(
            "storeWithin was given a label \"*\", which matches any label where namespaces are listed; name one");
    }
    return std::make_shared<StoreWithin>(std::move(inner), std::move(ns));
}

}  // namespace stategraph
