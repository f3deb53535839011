#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <forward_list>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/intrusive/set_hook.hpp>

#include <stategraph/saver.hpp>

#include "src/value/comparisons.hpp"
#include "storage/saver/index_place.hpp"
#include "storage/saver/thread_order.hpp"

// The data that the memory saver keeps for a thread, and the table to find it. It does not lock.
namespace stategraph::checkpoint {

// Stores rows in chunks that grow with the content, so that a short thread wastes little and a long one rarely
// allocates.
class ByteStore {
public:
    ByteStore() noexcept = default;
    ByteStore(ByteStore&& other) noexcept { swap(other); }
    ByteStore& operator=(ByteStore&& other) noexcept {
        ByteStore(std::move(other)).swap(*this);
        return *this;
    }
    ~ByteStore() {
        for (char* chunk = newest_; chunk != nullptr;) {
            char* older = nullptr;
            std::memcpy(&older, chunk, sizeof(older));
            delete[] chunk;
            chunk = older;
        }
    }

    /// Returns room for `size` bytes at a stable address, which now belongs to the caller.
    char* take(std::size_t size) {
        if (size > left_) {
            if (size >= chunk_max) return addChunk(size);  // saves the rest of the current chunk for later rows
            const std::size_t room = std::max(size, std::clamp(total_, chunk_min, chunk_max) - sizeof(char*));
            next_ = addChunk(room);
            left_ = room;
        }
        char* const at = next_;
        next_ += size;
        left_ -= size;
        return at;
    }

    /// Returns whether the string that holds a row is to be taken over instead of copied: the row is large, and its
    /// string has little unused room.
    static bool wants(const CommitRow& row) noexcept {
        const std::size_t size = row.bytes.size();
        return row.buffer != nullptr && size >= chunk_max && row.bytes.data() == row.buffer->data() &&
               size == row.buffer->size() && row.buffer->capacity() - size <= size / 8;
    }
    using Strings = std::forward_list<std::string>;
    /// Takes the strings over. Their rows stay at their addresses, because the strings are long.
    void takeOver(Strings& strings) noexcept { strings_.splice_after(strings_.before_begin(), strings); }

private:
    static constexpr std::size_t chunk_min = 512;
    static constexpr std::size_t chunk_max = 64 * 1024;

    // Each chunk begins with the address of the chunk before it, so that there is no table of them.
    char* addChunk(std::size_t room) {
        char* const chunk = new char[sizeof(char*) + room];
        std::memcpy(chunk, &newest_, sizeof(newest_));
        newest_ = chunk;
        total_ += sizeof(char*) + room;
        return chunk + sizeof(char*);
    }

    void swap(ByteStore& other) noexcept {
        std::swap(newest_, other.newest_);
        std::swap(next_, other.next_);
        std::swap(left_, other.left_);
        std::swap(total_, other.total_);
        strings_.swap(other.strings_);
    }

    char* newest_ = nullptr;
    char* next_ = nullptr;
    std::size_t left_ = 0;
    std::size_t total_ = 0;
    Strings strings_;
};

struct WriteKeyView {
    CheckpointId id;
    std::string_view path;
    friend auto operator<=>(const WriteKeyView&, const WriteKeyView&) = default;
};
struct WriteKey {
    CheckpointId id;
    std::string path;
    operator WriteKeyView() const noexcept { return {id, path}; }
};
struct ByWriteKey {
    using is_transparent = void;
    bool operator()(const WriteKeyView& a, const WriteKeyView& b) const noexcept { return a < b; }
};
using PendingWrites = std::map<WriteKey, std::string, ByWriteKey>;

struct Log {
    struct Commit {
        CheckpointId id;
        const char* data;
        std::uint32_t size;
        std::uint32_t to_base;  // how many places before this one its base is
        std::string_view bytes() const noexcept { return {data, size}; }
    };

    std::vector<Commit> commits;
    ByteStore bytes;
    PendingWrites pending;

    CheckpointId head() const noexcept { return commits.empty() ? CheckpointId() : commits.back().id; }
    bool empty() const noexcept { return commits.empty() && pending.empty(); }

    /// Returns the place of the first commit that is not older than `id`.
    std::size_t placeOf(CheckpointId id) const noexcept {
        const auto at = std::lower_bound(commits.begin(), commits.end(), id,
                                         [](const Commit& c, CheckpointId wanted) { return c.id < wanted; });
        return static_cast<std::size_t>(at - commits.begin());
    }

    bool has(CheckpointId id) const noexcept {
        const std::size_t place = placeOf(id);
        return place < commits.size() && commits[place].id == id;
    }

    void reserve(std::size_t more) {
        if (commits.capacity() - commits.size() >= more) return;
        commits.reserve(std::max({commits.size() + more, commits.capacity() * 3 / 2, std::size_t{8}}));
    }

    /// Call `reserve` before. `at` is the row's own room, where the row may be already.
    void append(CheckpointId id, CheckpointId base, std::string_view row, char* at) noexcept {
        if (!row.empty() && row.data() != at) std::memcpy(at, row.data(), row.size());
        const std::size_t place = commits.size();
        std::size_t base_place = place;
        if (base != id) {
            const bool as_before = place > 0 && commits[place - 1 - commits.back().to_base].id == base;
            base_place = as_before ? place - 1 - commits.back().to_base : placeOf(base);
        }
        commits.push_back(
            {id, at, static_cast<std::uint32_t>(row.size()), static_cast<std::uint32_t>(place - base_place)});
    }

    std::vector<StoredWrite> writesOf(CheckpointId id) const {
        std::vector<StoredWrite> found;
        for (auto at = pending.lower_bound(WriteKeyView{id, {}}); at != pending.end() && at->first.id == id; ++at) {
            found.push_back({at->first.path, at->second});
        }
        return found;
    }
};

struct Thread {
    using Children = std::map<std::string, Log, BySizeThenText>;

    std::string name;
    Log root;                                 // namespace ""
    std::unique_ptr<Children> children = {};  // null for most threads
    std::size_t bytes = 0;                    // as counted by memory_size.hpp
    std::size_t unordered_at = 0;  // used by the table: its place among the threads that are not in order yet
    IndexPlace index = {};         // ThreadIndex's, as are the summary and the hooks
    std::string summary = {};      // PutRequest::summary
    boost::intrusive::set_member_hook<> newest_hook = {};
    boost::intrusive::set_member_hook<> open_hook = {};
    boost::intrusive::set_member_hook<> due_hook = {};

    Log* find(std::string_view ns) noexcept {
        if (ns.empty()) return &root;
        if (!children) return nullptr;
        const auto at = children->find(ns);
        return at == children->end() ? nullptr : &at->second;
    }

    Log& make(std::string_view ns) {
        if (Log* const log = find(ns)) return *log;
        if (!children) children = std::make_unique<Children>();
        return children->emplace(ns, Log()).first->second;
    }

    /// Forgets the logs that no longer have rows.
    void dropEmptyLogs() {
        if (children) std::erase_if(*children, [](const auto& child) { return child.second.empty(); });
    }

    template <typename F>
    void forEachLog(F&& f) {
        if (!root.empty()) f(std::string_view(), root);
        if (!children) return;
        for (auto& [ns, log] : *children) {
            if (!log.empty()) f(std::string_view(ns), log);
        }
    }
};

inline std::unique_ptr<Thread> makeThread(std::string_view name) {
    auto thread = std::make_unique<Thread>();
    thread->name = name;
    return thread;
}

/// A thread's id with its hash, which is computed once.
struct HashedName {
    explicit HashedName(std::string_view name) noexcept : hash(std::hash<std::string_view>()(name)), text(name) {}
    std::size_t hash;
    std::string_view text;
};

// A table with open addressing. A look-up reads other threads' entries only if hashes are equal, so two cores that use
// one table do not touch each other's cache lines.
class ThreadTable {
public:
    Thread* find(const HashedName& name) const noexcept {
        if (slots_.empty()) return nullptr;
        for (std::size_t at = home(name.hash); slots_[at].thread; at = after(at)) {
            if (slots_[at].hash == name.hash && slots_[at].thread->name == name.text) return slots_[at].thread.get();
        }
        return nullptr;
    }

    /// Inserts a name, which must not exist yet. On an error the table is as before.
    Thread& insert(const HashedName& name, std::unique_ptr<Thread> thread) {
        if (slots_.size() * 3 / 4 <= size_) grow();
        thread->unordered_at = unordered_.size();
        unordered_.push_back(thread.get());
        ++size_;
        return *place(slots_, {name.hash, std::move(thread)}).thread;
    }

    std::unique_ptr<Thread> extract(const HashedName& name) noexcept {
        const Thread* const found = find(name);
        if (!found) return nullptr;
        std::size_t at = home(name.hash);
        while (slots_[at].thread.get() != found) at = after(at);
        std::unique_ptr<Thread> thread = std::move(slots_[at].thread);
        --size_;
        leaveOrder(*thread);
        // Later entries move up, unless that would put them before their home slot.
        for (std::size_t next = after(at); slots_[next].thread; next = after(next)) {
            const std::size_t distance = (next - home(slots_[next].hash)) & (slots_.size() - 1);
            if (distance < ((next - at) & (slots_.size() - 1))) continue;
            slots_[at] = std::move(slots_[next]);
            at = next;
        }
        return thread;
    }

    template <typename F>
    void forEach(F&& f) const {
        for (const Slot& slot : slots_) {
            if (slot.thread) f(*slot.thread);
        }
    }

    /// Calls `f` for the threads in the order of listings, until it returns false. It begins after `name`, or at the
    /// first thread if `name` is null. Cost: log n to find the first one. Threads that are new since the last call are
    /// sorted once, which costs n log n, so that storing a thread costs nothing for its order.
    template <typename F>
    void forEachAfter(const std::string* name, F&& f) {
        while (!unordered_.empty()) {
            ordered_.insert(unordered_.back());
            unordered_.back()->unordered_at = is_ordered;
            unordered_.pop_back();
        }
        for (auto at = name ? ordered_.upper_bound(std::string_view(*name)) : ordered_.begin(); at != ordered_.end();
             ++at) {
            if (!f(static_cast<const Thread&>(**at))) return;
        }
    }

private:
    struct Slot {
        std::size_t hash = 0;
        std::unique_ptr<Thread> thread;
    };
    struct ByName {
        using is_transparent = void;
        static std::string_view nameOf(const Thread* thread) noexcept { return thread->name; }
        static std::string_view nameOf(std::string_view name) noexcept { return name; }
        template <typename A, typename B>
        bool operator()(const A& a, const B& b) const noexcept {
            ++comparisons;
            return BySizeThenText()(nameOf(a), nameOf(b));
        }
    };
    static constexpr std::size_t is_ordered = static_cast<std::size_t>(-1);

    void leaveOrder(const Thread& thread) noexcept {
        if (thread.unordered_at == is_ordered) {
            ordered_.erase(ordered_.find(std::string_view(thread.name)));
            return;
        }
        Thread* const last = unordered_.back();
        unordered_[thread.unordered_at] = last;
        last->unordered_at = thread.unordered_at;
        unordered_.pop_back();
    }

    std::size_t home(std::size_t hash) const noexcept { return hash & (slots_.size() - 1); }
    std::size_t after(std::size_t at) const noexcept { return (at + 1) & (slots_.size() - 1); }

    static Slot& place(std::vector<Slot>& slots, Slot slot) noexcept {
        std::size_t at = slot.hash & (slots.size() - 1);
        while (slots[at].thread) at = (at + 1) & (slots.size() - 1);
        slots[at] = std::move(slot);
        return slots[at];
    }

    void grow() {
        std::vector<Slot> larger(std::max<std::size_t>(16, slots_.size() * 2));
        for (Slot& slot : slots_) {
            if (slot.thread) place(larger, std::move(slot));
        }
        slots_ = std::move(larger);
    }

    std::vector<Slot> slots_;  // their number is a power of two, and a quarter of them is free
    std::size_t size_ = 0;
    std::vector<Thread*> unordered_;
    std::set<Thread*, ByName> ordered_;
};

}  // namespace stategraph::checkpoint
