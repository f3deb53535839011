#include <stategraph/memory_store.hpp>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include <stategraph/detail/mutex.hpp>

#include "storage/store/engine.hpp"

namespace stategraph {
namespace {

using RowMap = std::map<std::string, std::string, std::less<>>;

// The size of a row in addition to its bytes: a node of the map, and its share of the heap.
constexpr std::size_t row_overhead = 112;

std::size_t sizeOf(std::string_view key, std::string_view value) { return key.size() + value.size() + row_overhead; }

/// Works like detail::AnnotatedMutex, for a lock that readers share.
class SG_CAPABILITY("shared mutex") SharedMutex {
public:
    void lock() SG_ACQUIRE() { wrapped_.lock(); }
    void unlock() SG_RELEASE() { wrapped_.unlock(); }
    void lock_shared() SG_ACQUIRE_SHARED() { wrapped_.lock_shared(); }
    void unlock_shared() SG_RELEASE_SHARED() { wrapped_.unlock_shared(); }
    std::shared_mutex& native() noexcept { return wrapped_; }

private:
    std::shared_mutex wrapped_;
};

class SG_SCOPED_CAPABILITY SharedGuard {
public:
    explicit SharedGuard(SharedMutex& mutex) SG_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
    SharedGuard(const SharedGuard&) = delete;
    SharedGuard& operator=(const SharedGuard&) = delete;
    ~SharedGuard() SG_RELEASE_GENERIC() { mutex_.unlock_shared(); }

private:
    SharedMutex& mutex_;
};

class MemoryCursor final : public stores::Cursor {
public:
    MemoryCursor(const RowMap& rows, std::string lower, std::string upper)
        : rows_(rows), lower_(std::move(lower)), upper_(std::move(upper)), at_(rows.end()) {}

    bool seek(std::string_view key) override {
        at_ = rows_.lower_bound(key < lower_ ? std::string_view(lower_) : key);
        return isInside();
    }
    bool next() override {
        ++at_;
        return isInside();
    }
    std::string_view key() const override { return at_->first; }
    std::string_view value() const override { return at_->second; }

private:
    bool isInside() const { return at_ != rows_.end() && at_->first < upper_; }

    const RowMap& rows_;
    std::string lower_;
    std::string upper_;
    RowMap::const_iterator at_;
};

class MemoryView final : public stores::View {
public:
    MemoryView(const RowMap& rows, SharedMutex& mutex) : rows_(rows), lock_(mutex.native()) {}

    std::optional<std::string> get(std::string_view key) override {
        const auto found = rows_.find(key);
        return found == rows_.end() ? std::nullopt : std::optional(found->second);
    }
    std::unique_ptr<stores::Cursor> rows(std::string lower, std::string upper) override {
        return std::make_unique<MemoryCursor>(rows_, std::move(lower), std::move(upper));
    }

private:
    const RowMap& rows_;
    std::shared_lock<std::shared_mutex> lock_;
};

class MemoryRows final : public stores::OwnRows {
public:
    explicit MemoryRows(std::optional<std::size_t> bytes_max) : bytes_max_(bytes_max) {}

    // The view holds the lock as long as it exists.
    std::unique_ptr<stores::View> view(Reads) override SG_NO_THREAD_SAFETY_ANALYSIS {
        return std::make_unique<MemoryView>(rows_, mutex_);
    }

    void write(std::span<const stores::Change> changes, bool) override {
        // Steps that can fail come first.
        RowMap made;
        for (const stores::Change& change : changes) {
            if (change.value) {
                made.insert_or_assign(change.key, *change.value);
            } else {
                made.erase(change.key);
            }
        }
        const detail::LockGuard lock(mutex_);
        const std::size_t after = sizeAfter(changes, made);
        if (bytes_max_ && after > *bytes_max_ && after > bytes_) {
            throw StoreError("the memory store is full: the put needs " + std::to_string(after - bytes_) +
                             " bytes more, " + std::to_string(bytes_) + " of " + std::to_string(*bytes_max_) +
                             " are taken; remove items, call sweep(), or raise bytes_max");
        }
        for (const stores::Change& change : changes) {
            if (change.value) continue;
            if (const auto found = rows_.find(change.key); found != rows_.end()) rows_.erase(found);
        }
        while (!made.empty()) {
            auto node = made.extract(made.begin());
            if (const auto found = rows_.find(node.key()); found != rows_.end()) {
                found->second.swap(node.mapped());
            } else {
                rows_.insert(std::move(node));
            }
        }
        bytes_ = after;
    }

    std::size_t bytes() const {
        const SharedGuard lock(mutex_);
        return bytes_;
    }

private:
    std::size_t sizeAfter(std::span<const stores::Change> changes, const RowMap& made) const
        SG_REQUIRES_SHARED(mutex_) {
        std::map<std::string_view, std::size_t> gone;  // each row once
        for (const stores::Change& change : changes) {
            const auto found = rows_.find(change.key);
            if (found != rows_.end()) gone[found->first] = sizeOf(found->first, found->second);
        }
        std::size_t size = bytes_;
        for (const auto& [key, bytes] : gone) size -= bytes;
        for (const auto& [key, value] : made) size += sizeOf(key, value);
        return size;
    }

    std::optional<std::size_t> bytes_max_;
    mutable SharedMutex mutex_;
    RowMap rows_ SG_GUARDED_BY(mutex_);
    std::size_t bytes_ SG_GUARDED_BY(mutex_) = 0;
};

std::optional<std::size_t> checked(std::optional<std::size_t> bytes_max) {
    if (bytes_max && *bytes_max < 1)
        throw InvalidArgumentError("bytes_max is 0; give the memory store at least 1, or no limit");
    return bytes_max;
}

}  // namespace

struct MemoryStore::Impl {
    Impl(const StoreOptions& options, const MemoryStoreOptions& memory)
        : rows(checked(memory.bytes_max)), engine(options, rows) {}

    MemoryRows rows;
    stores::Engine engine;
};

MemoryStore::MemoryStore(const StoreOptions& options, const MemoryStoreOptions& memory)
    : impl_(std::make_unique<Impl>(options, memory)) {}
MemoryStore::~MemoryStore() = default;

std::vector<StoreResult> MemoryStore::apply(std::span<const StoreOp> ops) { return impl_->engine.apply(ops); }
std::size_t MemoryStore::sweep() { return impl_->engine.sweep(); }
std::size_t MemoryStore::storedBytes() const { return impl_->rows.bytes(); }

}  // namespace stategraph
