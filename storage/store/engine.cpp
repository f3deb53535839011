#include "storage/store/engine.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include <stategraph/error.hpp>

#include "storage/store/check.hpp"
#include "storage/store/item_record.hpp"
#include "storage/store/keys.hpp"
#include "storage/store/reader.hpp"
#include "storage/store/sealed_rows.hpp"

namespace stategraph::stores {
namespace {

// Each batch of puts removes this many expired items, and two more for each put, so that a store that is written to
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

    std::map<std::string, Put> puts;  // by name; the last one of each name
    Embedding embedding;
    std::map<const SearchQuery*, std::size_t> queries;  // the places of their vectors in the embedding
    std::int64_t now = 0;
    std::vector<std::string> to_refresh;
};

class Engine::Changes {
public:
    Changes(Lookup& rows, std::int64_t now_unix_us) : rows_(rows), now_(now_unix_us) {}

    void checkExpected(const std::string& name, const PutOp& op) const {
        const std::string key = rowKey(Table::items, name);
        const auto bytes = getOrDamaged(key);
        std::optional<ItemRecord> record = bytes ? readOrNone(key, *bytes) : std::nullopt;
        const bool is_damaged = bytes && !record;
        if (record && record->isOver(now_)) record.reset();
        const Value& expected = *op.options.expected;
        if (!is_damaged && (record ? record->value == expected.bytes() : expected.isNull())) return;
        throw StoreChangedError("the item '" + op.key + "' has another value than the put expects; read it again");
    }

    void put(const std::string& name, const PutOp& op, std::int64_t ttl_ms, std::span<const float> floats,
             std::size_t dims) {
        const std::string key = rowKey(Table::items, name);
        const auto bytes = getOrDamaged(key);
        ItemRecord made{
            .created_at_unix_us = now_, .updated_at_unix_us = now_, .ttl_ms = ttl_ms, .value = op.value->bytes()};
        if (const auto known = bytes ? readOrNone(key, *bytes) : std::nullopt) {
            const ItemRecord& old = *known;
            if (!old.isOver(now_)) made.created_at_unix_us = old.created_at_unix_us;
            made.updated_at_unix_us = std::max(now_, made.created_at_unix_us);  // because clocks can jump back
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

    // This works for an item that cannot be read too: the rows that are known to belong to it are removed, and the
    // sweep finds the rest.
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
        const auto bytes = rows_.get(key);
        if (!bytes) return;
        ItemRecord record = readItem(key, *bytes);
        const std::int64_t deadline = now_ + record.ttl_ms * 1000;
        if (record.ttl_ms == 0 || record.isOver(now_) || deadline <= record.expires_at_unix_us) return;
        drop(expiryKey(record.expires_at_unix_us, name));
        storeItem(name, record);
    }

    // Returns whether an item was removed. An expiry that does not belong to an item, or no longer does, is removed
    // alone. So is the expiry of an item that cannot be read, and get still reports the damage.
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

    std::vector<Change> take() { return std::move(changes_); }

private:
    // A row that cannot be opened still exists. It is treated as a row whose bytes cannot be read.
    std::optional<std::string> getOrDamaged(const std::string& key) const {
        try {
            return rows_.get(key);
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

    Lookup& rows_;
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
    // The refresh is first, because a put that succeeded must not look as if it failed.
    if (!plan.to_refresh.empty()) refresh(plan.to_refresh, plan.now);
    if (!plan.puts.empty()) write(plan);
    return results;
}

void Engine::readAll(std::span<const StoreOp> ops, Plan& plan, std::vector<StoreResult>& results) {
    if (plan.puts.size() == ops.size()) return;
    const bool is_one_get = ops.size() == 1 && std::holds_alternative<GetOp>(ops.front());
    try {
        return readAll(ops, plan, is_one_get ? Rows::Reads::one : Rows::Reads::many, results);
    } catch (const ViewLost&) {
    }
    readAll(ops, plan, Rows::Reads::again, results);
}

void Engine::readAll(std::span<const StoreOp> ops, Plan& plan, Rows::Reads reads, std::vector<StoreResult>& results) {
    const auto view = rows_.view(reads);
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
    std::vector<std::string> over = findOver(plan.now, over_with_each_batch + 2 * plan.puts.size());
    // What this batch puts again is not removed by it.
    std::erase_if(over, [&](const std::string& key) { return plan.puts.contains(std::string(nameInExpiry(key))); });
    std::set<std::string_view> names;
    for (const auto& [name, put] : plan.puts) names.insert(name);
    for (const std::string& key : over) names.insert(nameInExpiry(key));
    update(names, plan.now, true, [&](Changes& changes) {
        for (const auto& [name, put] : plan.puts) {
            if (put.op->options.expected) changes.checkExpected(name, *put.op);
            if (!put.op->value) {
                changes.remove(name);
                continue;
            }
            const std::int64_t ttl_ms =
                put.op->options.ttl.value_or(options_.default_ttl.value_or(std::chrono::milliseconds(0))).count();
            const auto floats = options_.index ? plan.embedding.vectors(put.vectors) : std::span<const float>();
            changes.put(name, *put.op, ttl_ms, floats, options_.index ? options_.index->dims : 0);
        }
        for (const std::string& key : over) changes.removeOver(key);
    });
}

void Engine::refresh(const std::vector<std::string>& names, std::int64_t now_unix_us) {
    const std::set<std::string_view> unique(names.begin(), names.end());
    try {
        update(unique, now_unix_us, false, [&](Changes& changes) {
            for (const std::string_view name : unique) changes.refresh(std::string(name));
        });
    } catch (const CorruptStoreError&) {
        throw;
    } catch (const StoreError&) {
        // What was read is correct even if this failed, as on a full disk: the items expire when they would have
        // expired.
    }
}

std::size_t Engine::sweep() {
    rows_.checkWritable();
    const std::int64_t begin = now();
    std::size_t removed = 0;
    for (;;) {
        const std::vector<std::string> over = findOver(begin, sweep_at_once);
        if (over.empty()) return removed;
        std::set<std::string_view> names;
        for (const std::string& key : over) names.insert(nameInExpiry(key));
        std::size_t count = 0;
        update(names, begin, false, [&](Changes& changes) {
            count = 0;
            for (const std::string& key : over) count += changes.removeOver(key) ? 1 : 0;
        });
        removed += count;
    }
}

std::vector<std::string> Engine::findOver(std::int64_t now_unix_us, std::size_t most) {
    std::vector<std::string> keys;
    const auto view = rows_.view(Rows::Reads::one);
    const auto rows = view->rows(rowKey(Table::expiries, {}), expiryKey(now_unix_us + 1, {}));
    for (bool more = rows->seek(rowKey(Table::expiries, {})); more && keys.size() < most; more = rows->next()) {
        keys.emplace_back(rows->key());
    }
    return keys;
}

void Engine::update(const std::set<std::string_view>& names, std::int64_t now_unix_us, bool lasting,
                    const std::function<void(Changes&)>& edit) {
    std::vector<std::string> keys;
    keys.reserve(names.size());
    for (const std::string_view name : names) keys.push_back(rowKey(Table::items, name));
    const auto locks = lock(names);
    const Edit noted = [&](Lookup& rows) {
        Changes changes(rows, now_unix_us);
        edit(changes);
        return changes.take();
    };
    rows_.update(keys, noted, lasting);
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
