#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/std_function.hpp>
#include <stategraph/error.hpp>
#include <stategraph/store_filter.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

class IdSource;
class RowCipher;

/// The namespace of an item: labels from the outermost to the innermost, {"users", "alice", "notes"}.
using StoreNamespace = std::vector<std::string>;

/// One label of a namespace.
class StoreLabel {
public:
    StoreLabel(const char* label) : text_(label) {}
    StoreLabel(std::string label) noexcept : text_(std::move(label)) {}
    StoreLabel(std::string_view label) : text_(label) {}
    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

/// An item with its times.
struct StoreItem {
    StoreNamespace ns = {};
    std::string key = {};
    /// A CBOR map.
    Value value = {};
    /// When the key was first put since it was last removed or expired; an overwrite keeps it.
    std::chrono::system_clock::time_point created_at = {};
    std::chrono::system_clock::time_point updated_at = {};

    /// The value as a T. Throws WrongTypeError if it has another type.
    template <class T>
    T as() const {
        return value.as<T>();
    }
};

/// An item that a search found.
struct SearchItem : StoreItem {
    /// The cosine of the query and the item's nearest vector; none without a query, and for items without vectors.
    std::optional<double> score = {};
};

/// The options of a put.
struct PutOptions {
    /// The item's time to live; 0: unlimited; none: the store's default_ttl.
    std::optional<std::chrono::milliseconds> ttl = {};
    /// Which parts of the value are embedded (IndexConfig::fields has the grammar); empty: nothing; none: the store's
    /// fields.
    std::optional<std::vector<std::string>> index = {};
    /// The value that the item must have when it is put or removed, byte for byte; a null Value: there must be no such
    /// item. If it is otherwise, the whole batch changes nothing and throws StoreChangedError: of several writers that
    /// read the same value, one succeeds, in any process. None: the put replaces whatever there is.
    std::optional<Value> expected = {};
};

/// What a search looks for.
struct SearchQuery {
    /// Items of this namespace and of those inside it; empty: all. Labels are compared as they are.
    StoreNamespace namespace_prefix = {};
    StoreFilter filter = {};
    /// The text by which items are ranked by meaning; it needs a store with an index.
    std::optional<std::string> query = {};
    /// The number of results: at least 1, at most store_limits::limit_max.
    std::size_t limit = 10;
    std::size_t offset = 0;
    /// Whether the time to live of the returned items begins again; none: the store's refresh_on_read.
    std::optional<bool> refresh_ttl = {};
};

/// Which namespaces to list.
struct NamespaceQuery {
    /// The beginning and the end that a namespace must have; "*" means any one label.
    StoreNamespace prefix = {};
    StoreNamespace suffix = {};
    /// Cuts namespaces to this many labels, and lists each of what is left once; at least 1.
    std::optional<std::size_t> max_depth = {};
    std::size_t limit = 100;
    std::size_t offset = 0;
};

/// One operation of a batch: reads an item.
struct GetOp {
    StoreNamespace ns = {};
    std::string key = {};
    std::optional<bool> refresh_ttl = {};
};
/// One operation of a batch: puts or removes an item.
struct PutOp {
    StoreNamespace ns = {};
    std::string key = {};
    /// The value of the item. None: the put removes the item.
    std::optional<Value> value = {};
    PutOptions options = {};
};
/// One operation of a batch.
using StoreOp = std::variant<GetOp, PutOp, SearchQuery, NamespaceQuery>;

/// An item that a search or a listing could not read, and so left out: it is damaged, of a later format, or sealed with
/// a key that is not known.
struct DamagedItem {
    StoreNamespace ns = {};
    std::string key = {};
    /// A sentence that names the item.
    std::string why = {};
};

/// The result of one operation of a batch; the members of other operations are empty.
struct StoreResult {
    std::optional<StoreItem> item = {};
    std::vector<SearchItem> items = {};
    std::vector<StoreNamespace> namespaces = {};
    /// The items that a search or a listing could not read. A namespace that holds only such items is listed.
    std::vector<DamagedItem> damaged = {};
};

/// The limits of every store; requests beyond them are refused with InvalidArgumentError.
namespace store_limits {
/// The most bytes of one label of a namespace.
inline constexpr std::size_t label_bytes_max = 256;
/// The most labels of a namespace.
inline constexpr std::size_t labels_max = 32;
/// The most bytes of a key.
inline constexpr std::size_t key_bytes_max = 1024;
/// The most bytes of a value.
inline constexpr std::size_t value_bytes_max = std::size_t{16} << 20U;
/// The most operations of one batch.
inline constexpr std::size_t batch_max = 10'000;
/// The most items or namespaces that one search or listing returns.
inline constexpr std::size_t limit_max = 10'000;
/// The most texts of one item that are embedded.
inline constexpr std::size_t vectors_max = 256;
/// The most dimensions of a vector.
inline constexpr std::size_t dims_max = 65'536;
/// The longest time to live: a hundred years.
inline constexpr std::chrono::milliseconds ttl_max{3'155'760'000'000};
}  // namespace store_limits

/// Returns one vector for each text. It is called without locks on the thread that calls the store, so it must be safe
/// from several threads.
using EmbedFunction = std::function<std::vector<std::vector<float>>(std::span<const std::string> texts)>;

/// How a store searches by meaning.
struct IndexConfig {
    /// The size of every vector.
    std::size_t dims = 0;
    /// Called once for all texts of a batch. If it throws, the batch is not executed.
    EmbedFunction embed = {};
    /// Which parts of a value are embedded, each found text on its own: names joined by dots, "a.b"; "a[0]" and "a[-1]"
    /// for an element from the front or back, "a[*]" for all; a name "*" for all entries of a map; "$" for the whole
    /// value. Text is embedded as it is, other values as JSON; null and missing values are not embedded.
    std::vector<std::string> fields = {"$"};
};

/// The options that all stores have.
struct StoreOptions {
    /// The time to live of items that are put without one; none: unlimited.
    std::optional<std::chrono::milliseconds> default_ttl = {};
    /// Whether get and search restart an item's time to live. Each such read is a write of the item.
    bool refresh_on_read = true;
    /// How the store searches by meaning; none: it cannot.
    std::optional<IndexConfig> index = {};
    /// Called for each item that a search or a listing could not read and left out (StoreResult::damaged), by the
    /// thread of the call, without locks; null: no notification. What it throws ends the call.
    std::function<void(const DamagedItem&)> on_damaged = {};
    /// Encrypts what is stored: values, times, vectors. Namespaces, keys and when an item expires stay in the clear.
    /// Null: nothing is encrypted. A store that was filled with one needs it from then on, and one that was filled
    /// without has no use for it.
    std::shared_ptr<RowCipher> cipher = {};
    /// Provides the time in tests.
    std::shared_ptr<IdSource> clock = {};
};

/// Memory across threads: items that are CBOR maps, by namespace and key, with search, time to live and ranking by
/// meaning.
///
/// Safe from any thread. Each operation sees one moment. An expired item is never returned; it is removed by later
/// puts, a few with each, and by sweep(). A namespace has 1 to 32 labels of 1 to 256 bytes without "."; put refuses a
/// first label "stategraph" or "langgraph". A key has 1 to 1,024 bytes, a value up to 16 MiB. Errors of all calls:
/// InvalidArgumentError for a request that makes no sense; StoreError if the store cannot do its work;
/// StoreChangedError if a put's condition does not hold; CorruptStoreError, naming the item, where a get meets damaged
/// bytes. Nothing is put or removed then. Searches and listings leave a damaged item out and report it
/// (StoreOptions::on_damaged, StoreResult::damaged); put replaces it, remove removes it.
class BaseStore {
public:
    virtual ~BaseStore() = default;

    /// Adds or replaces one item. `value` is anything that is stored as a map: a struct with a table, a std::map, JSON.
    void put(StoreNamespace ns, std::string key, Value value, PutOptions options = {});
    std::optional<StoreItem> get(StoreNamespace ns, std::string key, std::optional<bool> refresh_ttl = {});
    /// The value alone, as a T. Throws WrongTypeError if it has another type.
    template <class T>
    std::optional<T> get(StoreNamespace ns, std::string key, std::optional<bool> refresh_ttl = {}) {
        const auto item = get(std::move(ns), std::move(key), refresh_ttl);
        return item ? std::optional<T>(item->template as<T>()) : std::nullopt;
    }
    /// Removes an item, also a damaged one. Does nothing if there is no such item.
    void remove(StoreNamespace ns, std::string key);

    /// Returns items: without a query in the order of namespaces and then keys, both by bytes; with one by score, the
    /// highest first, then in that order, and last, in that order, items without vectors. Cost: without a query items
    /// are read until enough match; with one, all below the prefix are read, and the vectors of those that match
    /// (exact, no approximation).
    std::vector<SearchItem> search(const SearchQuery& query);
    /// Does the same below a namespace, which replaces the query's.
    template <class Label = StoreLabel>  // a template, so that `search({})` is a query
    std::vector<SearchItem> search(std::initializer_list<std::type_identity_t<Label>> ns, SearchQuery query = {}) {
        query.namespace_prefix.clear();
        for (const Label& label : ns) query.namespace_prefix.push_back(label.text());
        return search(query);
    }
    template <class Namespace>
        requires std::is_same_v<Namespace, StoreNamespace>
    std::vector<SearchItem> search(const Namespace& ns, SearchQuery query = {}) {
        query.namespace_prefix = ns;
        return search(query);
    }
    /// Namespaces that have items, in their order. Cost: one seek for each namespace that fits the beginning of
    /// `prefix` without wildcards.
    std::vector<StoreNamespace> listNamespaces(const NamespaceQuery& query = {});

    /// Executes all operations and returns a result for each. Reads see the store as it was before the batch; if
    /// an item is put several times, the last counts. The puts are one atomic write. If any operation is invalid, none
    /// is executed.
    std::vector<StoreResult> batch(std::span<const StoreOp> ops);
    std::vector<StoreResult> batch(std::initializer_list<StoreOp> ops) {
        return batch(std::span(ops.begin(), ops.size()));
    }

    /// Removes every expired item, and returns how many. Cost: their number.
    virtual std::size_t sweep() = 0;

protected:
    /// The function that a store implements. `ops` have been checked, except for what depends on the store's options.
    virtual std::vector<StoreResult> apply(std::span<const StoreOp> ops) = 0;
};

/// A store that sees only the part of `inner` below a namespace and cannot name anything outside, for one tenant or
/// user. `ns` is prepended to every namespace and removed from every result. Errors: InvalidArgumentError for a null
/// store or a namespace that put refuses. sweep() sweeps all of `inner`.
std::shared_ptr<BaseStore> storeWithin(std::shared_ptr<BaseStore> inner, StoreNamespace ns);

}  // namespace stategraph
