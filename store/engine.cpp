#include "store/engine.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include <stategraph/error.hpp>

#include "store/check.hpp"
#include "store/item_record.hpp"
#include "store/keys.hpp"
#include "store/reader.hpp"
#include "store/sealed_rows.hpp"

namespace stategraph::stores {
namespace {

// With every batch of puts so many items go whose time is over, and two more for each put: a store that is written to
// does not fill up with them.
constexpr std::size_t over_with_each_batch = 16;
constexpr std::size_t sweep_at_once = 256;

std::unique_ptr<Rows> sealed(const StoreOptions& options, Rows& rows) {
    return options.cipher ? std::make_unique<SealedRows>(rows, options.cipher) : nullptr;
}

std::string_view nameInExpiry(std::string_view expiry_key) {
    constexpr std::size_t before_name = 9;
    return expiry_key.size() > before_name ? expiry_key.substr(before_name) : std::string_view();
}

}  // namespace

struct Engine::Plan {
    explicit Plan(const IndexConfig* index) : embedding(index) {}

    std::map<std::string, Put> puts;  // by name; the last one of each
    Embedding embedding;
    std::map<const SearchQuery*, std::size_t> queries;  // their places in the embedding
    std::int64_t now = 0;
    std::vector<std::string> to_refresh;
};

class Engine::Edit {
public:
    Edit(View& view, std::int64_t now_unix_us) : view_(view), now_(now_unix_us) {}

    void put(const std::string& name, const PutOp& op, std::int64_t ttl_ms, std::span<const float> floats,
             std::size_t dims) {
        const std::string key = rowKey(Table::items, name);
        const auto bytes = getOrDamaged(key);
        ItemRecord made{
            .created_at_unix_us = now_, .updated_at_unix_us = now_, .ttl_ms = ttl_ms, .value = op.value->bytes()};
        if (const auto known = bytes ? readOrNone(key, *bytes) : std::nullopt) {
            const ItemRecord& old = *known;
            if (!old.isOver(now_)) made.created_at_unix_us = old.created_at_unix_us;
            made.updated_at_unix_us = std::max(now_, made.created_at_unix_us);  // clocks can jump back
            if (old.expires_at_unix_us != 0) drop(expiryKey(old.expires_at_unix_us, name));
            if (old.vectors > 0 && floats.empty()) drop(rowKey(Table::vectors, name));
        } else if (bytes && floats.empty()) {
            drop(rowKey(Table::vectors, name));
        }
        if (!floats.empty()) {
            const std::string vectors_key = rowKey(Table::vectors, name);
            made.vectors = floats.size() / dims;
            store(vectors_key, writeVectors(vectors_key, dims, floats));
        }
        storeItem(name, made);
    }

    // Also for an item that cannot be read: the rows that are known to belong to it are removed, and the sweep finds
    // the rest.
    void remove(const std::string& name) {
        const std::string key = rowKey(Table::items, name);
        const auto bytes = getOrDamaged(key);
        if (!bytes) return;
        if (const auto record = readOrNone(key, *bytes)) return dropItem(name, *record);
        drop(key);
        drop(rowKey(Table::vectors, name));
    }

    void refresh(const std::string& name) {
        const std::string key = rowKey(Table::items, name);
        const auto bytes = view_.get(key);
        if (!bytes) return;
        ItemRecord record = readItem(key, *bytes);
        const std::int64_t deadline = now_ + record.ttl_ms * 1000;
        if (record.ttl_ms == 0 || record.isOver(now_) || deadline <= record.expires_at_unix_us) return;
        drop(expiryKey(record.expires_at_unix_us, name));
        storeItem(name, record);
    }

    // Whether an item went. An expiry that is not, or no longer, an item's goes alone, and so does that of an item that
    // cannot be read: get still reports the damage.
    bool removeOver(const std::string& expiry_key) {
        const std::string name(nameInExpiry(expiry_key));
        const std::string key = rowKey(Table::items, name);
        const auto bytes = name.empty() ? std::nullopt : getOrDamaged(key);
        const auto record = bytes ? readOrNone(key, *bytes) : std::nullopt;
        if (record && record->isOver(now_) && expiryKey(record->expires_at_unix_us, name) == expiry_key) {
            dropItem(name, *record);
            return true;
        }
        drop(expiry_key);
        return false;
    }

    std::span<const Change> changes() const noexcept { return changes_; }

private:
    // A row that cannot be opened is there all the same: it is as one whose bytes cannot be read.
    std::optional<std::string> getOrDamaged(const std::string& key) const {
        try {
            return view_.get(key);
        } catch (const CorruptStoreError&) {
            return std::string();
        }
    }
    static std::optional<ItemRecord> readOrNone(const std::string& key, std::string_view bytes) {
        try {
            return readItem(key, bytes);
        } catch (const CorruptStoreError&) {
            return std::nullopt;
        }
    }

    void drop(std::string key) { changes_.push_back({std::move(key), {}}); }
    void store(std::string key, std::string value) { changes_.push_back({std::move(key), std::move(value)}); }

    void storeItem(const std::string& name, ItemRecord record) {
        record.expires_at_unix_us = record.ttl_ms > 0 ? now_ + record.ttl_ms * 1000 : 0;
        if (record.expires_at_unix_us != 0) store(expiryKey(record.expires_at_unix_us, name), {});
        std::string key = rowKey(Table::items, name);
        std::string bytes = writeItem(key, record);
        store(std::move(key), std::move(bytes));
    }

    void dropItem(const std::string& name, const ItemRecord& record) {
        drop(rowKey(Table::items, name));
        if (record.vectors > 0) drop(rowKey(Table::vectors, name));
        if (record.expires_at_unix_us != 0) drop(expiryKey(record.expires_at_unix_us, name));
    }

    View& view_;
    std::int64_t now_;
    std::vector<Change> changes_;
};

Engine::Engine(const StoreOptions& options, Rows& rows)
    : options_(options),
      sealed_rows_(sealed(options, rows)),
      rows_(sealed_rows_ ? *sealed_rows_ : rows),
      clock_(options_.clock ? options_.clock.get() : &IdSource::system()) {
    checkOptions(options_);
    if (options_.index) {
        for (const std::string& path : options_.index->fields) fields_.push_back(parsePath(path));
    }
}

std::vector<StoreResult> Engine::apply(std::span<const StoreOp> ops) {
    Plan plan(options_.index ? &*options_.index : nullptr);
    for (const StoreOp& op : ops) {
        if (const auto* put = std::get_if<PutOp>(&op)) {
            plan.puts[itemName(put->ns, put->key)].op = put;
            if (!options_.index && put->value && put->options.index && !put->options.index->empty()) {
                throw InvalidArgumentError(
                    "a put names what to index, and the store has no index; make the store with one "
                    "(StoreOptions::index)");
            }
        } else if (const auto* search = std::get_if<SearchQuery>(&op); search != nullptr && search->query) {
            if (!options_.index) {
                throw InvalidArgumentError(
                    "a search has a query, and the store has no index; make the store with one (StoreOptions::index)");
            }
            plan.queries[search] = plan.embedding.addQuery(*search->query);
        }
    }
    if (!plan.puts.empty()) rows_.checkWritable();
    if (options_.index) {
        for (auto& [name, put] : plan.puts) {
            if (!put.op->value) continue;
            std::vector<TextPath> paths;
            if (put.op->options.index) {
                for (const std::string& path : *put.op->options.index) paths.push_back(parsePath(path));
            }
            put.vectors = plan.embedding.addItem(*put.op->value, put.op->options.index ? paths : fields_);
        }
        plan.embedding.embed();
    }
    plan.now = now();
    std::vector<StoreResult> results(ops.size());
    readAll(ops, plan, results);
    if (options_.on_damaged) {
        for (const StoreResult& result : results) {
            for (const DamagedItem& item : result.damaged) options_.on_damaged(item);
        }
    }
    // First, because a put that was made must not look as if it failed.
    if (!plan.to_refresh.empty()) refresh(plan.to_refresh, plan.now);
    if (!plan.puts.empty()) write(plan);
    return results;
}

void Engine::readAll(std::span<const StoreOp> ops, Plan& plan, std::vector<StoreResult>& results) {
    if (plan.puts.size() == ops.size()) return;
    const auto view = rows_.view();
    Reader reader(*view, plan.now);
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (const auto* get = std::get_if<GetOp>(&ops[i])) {
            results[i].item = reader.get(*get, refreshes(get->refresh_ttl));
        } else if (const auto* search = std::get_if<SearchQuery>(&ops[i])) {
            const auto place = plan.queries.find(search);
            const auto vector =
                place == plan.queries.end() ? std::span<const float>() : plan.embedding.vectors(place->second);
            results[i].items = reader.search(*search, vector, refreshes(search->refresh_ttl));
        } else if (const auto* list = std::get_if<NamespaceQuery>(&ops[i])) {
            results[i].namespaces = reader.list(*list);
        }
        results[i].damaged = reader.takeDamaged();
    }
    plan.to_refresh = reader.toRefresh();
}

void Engine::write(const Plan& plan) {
    std::vector<std::string> over = findOver(*rows_.view(), plan.now, over_with_each_batch + 2 * plan.puts.size());
    // An item that this batch puts again is not removed by it.
    std::erase_if(over, [&](const std::string& key) { return plan.puts.contains(std::string(nameInExpiry(key))); });
    std::set<std::string_view> names;
    for (const auto& [name, put] : plan.puts) names.insert(name);
    for (const std::string& key : over) names.insert(nameInExpiry(key));
    const auto locks = lock(names);
    auto view = rows_.view();
    Edit edit(*view, plan.now);
    for (const auto& [name, put] : plan.puts) {
        if (!put.op->value) {
            edit.remove(name);
            continue;
        }
        const std::int64_t ttl_ms =
            put.op->options.ttl.value_or(options_.default_ttl.value_or(std::chrono::milliseconds(0))).count();
        const auto floats = options_.index ? plan.embedding.vectors(put.vectors) : std::span<const float>();
        edit.put(name, *put.op, ttl_ms, floats, options_.index ? options_.index->dims : 0);
    }
    for (const std::string& key : over) edit.removeOver(key);
    view.reset();
    if (!edit.changes().empty()) rows_.write(edit.changes(), true);
}

void Engine::refresh(const std::vector<std::string>& names, std::int64_t now_unix_us) {
    const std::set<std::string> unique(names.begin(), names.end());
    const auto locks = lock({unique.begin(), unique.end()});
    auto view = rows_.view();
    Edit edit(*view, now_unix_us);
    for (const std::string& name : unique) edit.refresh(name);
    view.reset();
    if (edit.changes().empty()) return;
    try {
        rows_.write(edit.changes(), false);
    } catch (const CorruptStoreError&) {
        throw;
    } catch (const StoreError&) {
        // What was read is not worse for that, as on a full disk: its items end when they would have ended.
    }
}

std::size_t Engine::sweep() {
    rows_.checkWritable();
    const std::int64_t begin = now();
    std::size_t removed = 0;
    for (;;) {
        const std::vector<std::string> over = findOver(*rows_.view(), begin, sweep_at_once);
        if (over.empty()) return removed;
        std::set<std::string_view> names;
        for (const std::string& key : over) names.insert(nameInExpiry(key));
        const auto locks = lock(names);
        auto view = rows_.view();
        Edit edit(*view, begin);
        std::size_t count = 0;
        for (const std::string& key : over) count += edit.removeOver(key) ? 1 : 0;
        view.reset();
        rows_.write(edit.changes(), false);
        removed += count;
    }
}

std::vector<std::string> Engine::findOver(View& view, std::int64_t now_unix_us, std::size_t most) const {
    std::vector<std::string> keys;
    const auto rows = view.rows(rowKey(Table::expiries, {}), expiryKey(now_unix_us + 1, {}));
    for (bool more = rows->seek(rowKey(Table::expiries, {})); more && keys.size() < most; more = rows->next()) {
        keys.emplace_back(rows->key());
    }
    return keys;
}

std::vector<std::unique_lock<std::mutex>> Engine::lock(const std::set<std::string_view>& names) {
    std::set<std::size_t> places;
    for (const std::string_view name : names) places.insert(std::hash<std::string_view>()(name) % mutexes_.size());
    std::vector<std::unique_lock<std::mutex>> locks;
    locks.reserve(places.size());
    for (const std::size_t place : places) locks.emplace_back(mutexes_[place].native());
    return locks;
}

}  // namespace stategraph::stores
