#include "storage/store/reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "src/value/bytes.hpp"
#include "src/value/times.hpp"
#include "storage/store/item_record.hpp"
#include "storage/store/keys.hpp"
#include "storage/store/vectors.hpp"

namespace stategraph::stores {
namespace {

ParsedName parsed(std::string_view row_key) {
    if (auto name = parseName(row_key.substr(1))) return std::move(*name);
    corrupt(row_key, "its key cannot be read");
}

void fill(StoreItem& item, ParsedName name, const ItemRecord& record) {
    item.ns = std::move(name.ns);
    item.key = std::move(name.key);
    item.value = Value::fromCbor(std::string(record.value));
    item.created_at = times::ofUnixUs(record.created_at_unix_us);
    item.updated_at = times::ofUnixUs(record.updated_at_unix_us);
}

std::size_t sumOf(std::size_t a, std::size_t b) {
    return a > std::numeric_limits<std::size_t>::max() - b ? std::numeric_limits<std::size_t>::max() : a + b;
}

struct Candidate {
    double score;
    std::string name;
};
// Orders the better candidate first. Names are unique, so the order is total.
bool isBetter(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.name < b.name;
}

// Keeps the best candidates, at most `most`, in a heap with the worst on top.
class Best {
public:
    explicit Best(std::size_t most) : most_(most) {}

    void add(double score, std::string_view name) {
        if (heap_.size() == most_) {
            if (heap_.front().score > score || (heap_.front().score == score && heap_.front().name < name)) return;
            std::pop_heap(heap_.begin(), heap_.end(), isBetter);
            heap_.back() = {score, std::string(name)};
        } else {
            heap_.push_back({score, std::string(name)});
        }
        std::push_heap(heap_.begin(), heap_.end(), isBetter);
    }
    std::vector<Candidate> take() {
        std::sort_heap(heap_.begin(), heap_.end(), isBetter);
        return std::move(heap_);
    }

private:
    std::size_t most_;
    std::vector<Candidate> heap_;
};

bool fits(const StoreNamespace& ns, const NamespaceQuery& query) {
    const auto same = [](const std::string& label, const std::string& pattern) {
        return pattern == "*" || label == pattern;
    };
    return ns.size() >= query.prefix.size() && ns.size() >= query.suffix.size() &&
           std::equal(query.prefix.begin(), query.prefix.end(), ns.begin(),
                      [&](const auto& a, const auto& b) { return same(b, a); }) &&
           std::equal(query.suffix.rbegin(), query.suffix.rend(), ns.rbegin(),
                      [&](const auto& a, const auto& b) { return same(b, a); });
}

}  // namespace

std::optional<StoreItem> Reader::get(const GetOp& op, bool refresh) {
    const std::string name = itemName(op.ns, op.key);
    const std::string key = rowKey(Table::items, name);
    const auto bytes = view_.get(key);
    if (!bytes) return std::nullopt;
    const ItemRecord record = readItem(key, *bytes);
    if (record.isOver(now_)) return std::nullopt;
    StoreItem item;
    fill(item, {op.ns, op.key}, record);
    if (refresh && record.ttl_ms > 0) to_refresh_.push_back(name);
    return item;
}

std::vector<SearchItem> Reader::search(const SearchQuery& query, std::span<const float> vector, bool refresh) {
    return query.query ? searchByScore(query, vector, refresh) : searchInOrder(query, refresh);
}

void Reader::note(std::string_view row_key, const CorruptStoreError& error) {
    ParsedName name;
    try {
        name = parsed(row_key);
    } catch (const CorruptStoreError&) {
        name.key = row_key.substr(1);
    }
    damaged_.push_back({std::move(name.ns), std::move(name.key), error.message()});
}

template <class Visit>
void Reader::forEachMatch(const SearchQuery& query, Visit visit) {
    const std::string prefix = rowKey(Table::items, namespacePrefix(query.namespace_prefix));
    const auto rows = view_.rows(prefix, detail::prefixEnd(prefix));
    for (bool more = rows->seek(prefix); more; more = rows->next()) {
        try {
            const ItemRecord record = readItem(rows->key(), rows->value());
            if (record.isOver(now_) || !query.filter.matchesCbor(record.value)) continue;
            if (!visit(rows->key().substr(1), record)) return;
        } catch (const CorruptStoreError& error) {
            note(rows->key(), error);
        }
    }
}

std::vector<SearchItem> Reader::searchInOrder(const SearchQuery& query, bool refresh) {
    std::vector<SearchItem> found;
    std::size_t to_skip = query.offset;
    forEachMatch(query, [&](std::string_view name, const ItemRecord& record) {
        ParsedName place = parsed(rowKey(Table::items, name));
        if (to_skip > 0) {
            --to_skip;
            return true;
        }
        fill(found.emplace_back(), std::move(place), record);
        if (refresh && record.ttl_ms > 0) to_refresh_.emplace_back(name);
        return found.size() < query.limit;
    });
    return found;
}

std::vector<SearchItem> Reader::searchByScore(const SearchQuery& query, std::span<const float> vector, bool refresh) {
    const std::size_t most = sumOf(query.offset, query.limit);
    Best best(most);
    const Query ranked(vector);
    std::vector<std::string> without;  // the names of items without vectors
    std::vector<float> floats;
    const std::string table(1, static_cast<char>(Table::vectors));
    const auto rows = view_.rows(table, detail::prefixEnd(table));
    bool is_at_row = false;
    forEachMatch(query, [&](std::string_view name, const ItemRecord& record) {
        if (record.vectors == 0) {
            if (without.size() < most) without.emplace_back(name);
            return true;
        }
        const std::string key = rowKey(Table::vectors, name);
        // Both tables have the same order, so the wanted row is usually the next one.
        is_at_row = is_at_row && rows->next();
        if (!is_at_row || rows->key() != key) is_at_row = rows->seek(key);
        if (!is_at_row || rows->key() != key) corrupt(key, "its vectors are missing");
        readVectors(key, rows->value(), vector.size(), record.vectors, floats);
        best.add(ranked.bestCosine(floats), name);
        return true;
    });
    std::vector<SearchItem> found;
    std::size_t place = 0;
    const auto isWanted = [&] { return place++ >= query.offset && found.size() < query.limit; };
    for (const Candidate& each : best.take()) {
        if (!isWanted()) continue;
        found.push_back(read(each.name, refresh));
        found.back().score = each.score;
    }
    for (const std::string& name : without) {
        if (isWanted()) found.push_back(read(name, refresh));
    }
    return found;
}

SearchItem Reader::read(std::string_view name, bool refresh) {
    const std::string key = rowKey(Table::items, name);
    const auto bytes = view_.get(key);
    if (!bytes) corrupt(key, "its row is missing");
    const ItemRecord record = readItem(key, *bytes);
    SearchItem item;
    fill(item, parsed(key), record);
    if (refresh && record.ttl_ms > 0) to_refresh_.emplace_back(name);
    return item;
}

std::vector<StoreNamespace> Reader::list(const NamespaceQuery& query) {
    std::vector<StoreNamespace> found;
    StoreNamespace fixed = query.prefix;
    fixed.erase(std::find(fixed.begin(), fixed.end(), "*"), fixed.end());
    const std::string prefix = rowKey(Table::items, namespacePrefix(fixed));
    std::size_t to_skip = query.offset;
    const auto rows = view_.rows(prefix, detail::prefixEnd(prefix));
    for (bool more = rows->seek(prefix); more;) {
        auto name = parseName(rows->key().substr(1));
        if (!name) {
            damaged_.push_back({{},
                                std::string(rows->key().substr(1)),
                                "the store has a key that cannot be read: " + describeName(rows->key().substr(1))});
            more = rows->next();
            continue;
        }
        StoreNamespace ns = std::move(name->ns);
        const std::string whole = rowKey(Table::items, itemName(ns, {}));  // the keys of its items begin with it
        if (!fits(ns, query)) {
            more = rows->seek(detail::prefixEnd(whole));
            continue;
        }
        try {
            if (readItem(rows->key(), rows->value()).isOver(now_)) {
                more = rows->next();
                continue;
            }
        } catch (const CorruptStoreError& error) {
            note(rows->key(), error);  // it still counts as an item
        }
        std::string after = whole;
        if (query.max_depth && ns.size() > *query.max_depth) {
            // Deeper namespaces would be cut to the same one.
            ns.resize(*query.max_depth);
            after = rowKey(Table::items, namespacePrefix(ns));
        } else if (query.max_depth && ns.size() == *query.max_depth) {
            after = rowKey(Table::items, namespacePrefix(ns));
        }
        more = rows->seek(detail::prefixEnd(after));
        if (to_skip > 0) {
            --to_skip;
            continue;
        }
        found.push_back(std::move(ns));
        if (found.size() == query.limit) break;
    }
    return found;
}

}  // namespace stategraph::stores
