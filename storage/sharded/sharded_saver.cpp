#include <stategraph/sharded_saver.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/value/sha256.hpp"
#include "storage/saver/copy_thread.hpp"
#include "storage/sharded/sharded_impl.hpp"

// Where threads are, and calls for one of them. Lists over many are in sharded_lists.cpp, asynchronous calls in
// sharded_async.cpp.
namespace stategraph {
namespace {

const ShardMap& checkedMap(const ShardMap& map, std::size_t shards) {
    const bool is_whole = map.shard_of.size() == shard_slots &&
                          std::ranges::all_of(map.shard_of, [&](std::size_t shard) { return shard < shards; });
    if (is_whole) return map;
    throw InvalidArgumentError("a ShardMap has " + std::to_string(map.shard_of.size()) + " slots for " +
                               std::to_string(shards) + " shards; it must name one of them for each of " +
                               std::to_string(shard_slots) + " slots");
}

std::vector<NamedShard> checkedShards(std::vector<NamedShard> shards) {
    if (shards.empty()) throw InvalidArgumentError("FixedShards was given no shards; give it at least one");
    std::set<std::string_view> names;
    std::map<const BaseCheckpointSaver*, std::string_view> savers;
    for (const NamedShard& shard : shards) {
        if (!shard.saver) throw InvalidArgumentError("the shard '" + shard.name + "' has no saver");
        const auto [known, is_new] = savers.emplace(shard.saver.get(), shard.name);
        if (!is_new && known->second != shard.name)  // lists would have each of its threads twice
            throw InvalidArgumentError("the shards '" + std::string(known->second) + "' and '" + shard.name +
                                       "' have the same saver; give each a saver of its own");
        if (!names.insert(shard.name).second)
            throw InvalidArgumentError("two shards are called '" + shard.name + "'; give each a name of its own");
    }
    return shards;
}

// Whether the shard has what a put was to store.
bool isStored(BaseCheckpointSaver& saver, const PutRequest& request) {
    if (!request.commits.empty())
        return saver.getTuple({.log = request.log, .checkpoint_id = request.commits.back().id}).has_value();
    return !request.writes.empty() && std::ranges::all_of(request.writes, [&](const WriteRow& row) {
        const auto tuple = saver.getTuple({.log = request.log, .checkpoint_id = row.checkpoint_id});
        return tuple && std::ranges::any_of(tuple->writes, [&](const StoredWrite& write) {
                   return write.path == row.path && write.bytes == row.bytes;
               });
    });
}

}  // namespace

std::size_t slotOf(std::string_view thread_id) noexcept {
    const auto digest = detail::sha256(thread_id);
    return std::size_t{digest[0]} << 2U | digest[1] >> 6U;
}

ShardMap ShardMap::evenly(std::size_t shards) {
    if (shards < 1 || shards > shard_slots)
        throw InvalidArgumentError("slots for " + std::to_string(shards) + " shards; there must be 1 to " +
                                   std::to_string(shard_slots));
    ShardMap map{.version = 1};
    for (std::size_t slot = 0; slot < shard_slots; ++slot) map.shard_of.push_back(slot * shards / shard_slots);
    return map;
}

FixedShards::FixedShards(std::vector<NamedShard> shards, ThreadOrder order, std::optional<ShardMap> map)
    : shards_(checkedShards(std::move(shards))),
      order_(order),
      map_(map ? checkedMap(*map, shards_.size()) : ShardMap::evenly(shards_.size())) {}

std::size_t FixedShards::count() const noexcept { return shards_.size(); }
std::string_view FixedShards::name(std::size_t shard) const { return shards_.at(shard).name; }
BaseCheckpointSaver& FixedShards::saver(std::size_t shard) { return *shards_.at(shard).saver; }
ShardMap FixedShards::readMap() { return map_; }
BaseCheckpointSaver* FixedShards::opened(std::size_t shard) noexcept { return shards_[shard].saver.get(); }
bool FixedShards::answersLater() const noexcept {
    return std::ranges::all_of(shards_, [](const NamedShard& shard) { return shard.saver->answersLater(); });
}
std::size_t FixedShards::commitsAhead() const noexcept {
    std::size_t least = shards_.front().saver->commitsAhead();
    for (const NamedShard& shard : shards_) least = std::min(least, shard.saver->commitsAhead());
    return least;
}
ThreadOrder FixedShards::order() const noexcept { return order_; }

ShardedSaver::Impl::Impl(std::shared_ptr<Shards> given, const ShardedSaverOptions& given_options)
    : shards(std::move(given)), options(given_options), order(shards->order()) {
    if (options.move_wait < std::chrono::milliseconds(0))
        throw InvalidArgumentError("move_wait is " + std::to_string(options.move_wait.count()) +
                                   " ms; it must be at least 0");
    map = std::make_shared<const ShardMap>(checkedMap(shards->readMap(), shards->count()));
}

ShardedSaver::Impl::Map ShardedSaver::Impl::current() const {
    const detail::LockGuard lock(mutex);
    return map;
}

ShardedSaver::Impl::Map ShardedSaver::Impl::refresh(const Map& known) {
    const detail::LockGuard one(refreshing);
    Map now = current();
    if (now != known) return now;
    auto read = std::make_shared<const ShardMap>(checkedMap(shards->readMap(), shards->count()));
    const detail::LockGuard lock(mutex);
    if (read->version > map->version) map = std::move(read);
    return map;
}

ShardedSaver::ShardedSaver(std::shared_ptr<Shards> shards, const ShardedSaverOptions& options) {
    if (!shards) throw InvalidArgumentError("a ShardedSaver needs shards, and was given none");
    impl_ = std::make_unique<Impl>(std::move(shards), options);
}
ShardedSaver::~ShardedSaver() {
    if (impl_->threads->isInChild()) (void)impl_->threads.release();
}

ShardMap ShardedSaver::map() const { return *impl_->current(); }
const std::shared_ptr<Shards>& ShardedSaver::shards() const noexcept { return impl_->shards; }

std::chrono::milliseconds ShardedSaver::moveWait() const noexcept { return impl_->options.move_wait; }

void ShardedSaver::refresh(const ShardMap& known) {
    const auto now = impl_->current();
    if (now->version == known.version) (void)impl_->refresh(now);
}

void ShardedSaver::onShardOf(std::string_view thread_id, const std::function<void(std::size_t shard)>& call) {
    impl_->onSlot(slotOf(thread_id), [&](std::size_t shard) {
        impl_->onShard(shard, [&](BaseCheckpointSaver& /*opened*/) { call(shard); });
    });
}

void ShardedSaver::Impl::put(const PutRequest& request, bool may_be_stored) {
    onThread(request.log.thread_id, [&](BaseCheckpointSaver& saver) {
        if (may_be_stored && isStored(saver, request)) return;
        try {
            saver.put(request);
        } catch (const ThreadMovedError& error) {
            may_be_stored = may_be_stored || error.mayBeStored();
            throw;
        }
    });
}

void ShardedSaver::put(const PutRequest& request) { impl_->put(request, false); }

std::optional<CheckpointTuple> ShardedSaver::getTuple(const TupleQuery& query) {
    return impl_->onThread(query.log.thread_id, [&](BaseCheckpointSaver& saver) { return saver.getTuple(query); });
}

std::unique_ptr<ThreadHold> ShardedSaver::tryHold(std::string_view thread_id) {
    return impl_->onThread(thread_id, [&](BaseCheckpointSaver& saver) { return saver.tryHold(thread_id); });
}

void ShardedSaver::deleteThread(std::string_view thread_id) {
    impl_->onThread(thread_id, [&](BaseCheckpointSaver& saver) { saver.deleteThread(thread_id); });
}

void ShardedSaver::copyThread(std::string_view from, std::string_view to) {
    const auto map = impl_->current();
    if (map->shard_of[slotOf(from)] != map->shard_of[slotOf(to)])
        return checkpoint::copyThreadRows(*this, *this, from, to);
    try {
        impl_->onShard(map->shard_of[slotOf(to)], [&](BaseCheckpointSaver& saver) { saver.copyThread(from, to); });
    } catch (const ThreadMovedError& error) {  // one of the two
        if (error.mayBeStored())
            throw SaverError(error.message() + "; whether the thread was copied is not known: read the copy",
                             error.context());
        checkpoint::copyThreadRows(*this, *this, from, to);
    }
}

std::size_t ShardedSaver::prune(const PruneRequest& request) {
    if (request.thread_id)
        return impl_->onThread(*request.thread_id, [&](BaseCheckpointSaver& saver) { return saver.prune(request); });
    std::size_t dropped = 0;
    impl_->onEach([&](BaseCheckpointSaver& saver) { dropped += saver.prune(request); });
    return dropped;
}

void ShardedSaver::putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) {
    bool is_kept = false;
    try {
        impl_->onEach([&](BaseCheckpointSaver& saver) {
            saver.putGraph(fingerprint, bytes);
            is_kept = true;
        });
    } catch (const SaverError&) {
        if (!is_kept) throw;  // tools know less of the threads elsewhere
    }
}

std::optional<std::string> ShardedSaver::getGraph(const GraphFingerprint& fingerprint) {
    std::optional<std::string> found;
    try {
        impl_->onEach([&](BaseCheckpointSaver& saver) {
            if (!found) found = saver.getGraph(fingerprint);
        });
    } catch (const SaverError&) {
        if (!found) throw;
    }
    return found;
}

std::optional<std::uint64_t> ShardedSaver::storedBytes() {
    std::uint64_t all = 0;
    bool is_known = true;
    for (std::size_t shard = 0; shard < impl_->shards->count(); ++shard) {
        const auto bytes = impl_->onShard(shard, [](BaseCheckpointSaver& saver) { return saver.storedBytes(); });
        is_known = is_known && bytes;
        all += bytes.value_or(0);
    }
    return is_known ? std::optional(all) : std::nullopt;
}

}  // namespace stategraph
