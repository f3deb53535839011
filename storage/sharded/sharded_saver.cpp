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

std::vector<NamedShard> checkedShards(std::vector<NamedShard> shards) {
    if (shards.empty() || shards.size() > shard_slots)
        throw InvalidArgumentError("a ShardedSaver was given " + std::to_string(shards.size()) +
                                   " shards; there must be 1 to " + std::to_string(shard_slots));
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

std::vector<std::size_t> checkedSlots(std::vector<std::size_t> shard_of, std::size_t shards) {
    if (shard_of.empty()) {
        for (std::size_t slot = 0; slot < shard_slots; ++slot) shard_of.push_back(slot * shards / shard_slots);
    }
    const bool is_whole = shard_of.size() == shard_slots &&
                          std::ranges::all_of(shard_of, [&](std::size_t shard) { return shard < shards; });
    if (is_whole) return shard_of;
    throw InvalidArgumentError("ShardedSaverOptions::shard_of has " + std::to_string(shard_of.size()) + " slots for " +
                               std::to_string(shards) + " shards; it must have the index of one of them for each of " +
                               std::to_string(shard_slots) + " slots");
}

}  // namespace

std::size_t slotOf(std::string_view thread_id) noexcept {
    const auto digest = detail::sha256(thread_id);
    return std::size_t{digest[0]} << 2U | digest[1] >> 6U;
}

ShardedSaver::Impl::Impl(std::vector<NamedShard> given, const ShardedSaverOptions& options)
    : shards(checkedShards(std::move(given))),
      order(options.order),
      shard_of(checkedSlots(options.shard_of, shards.size())) {}

ShardedSaver::ShardedSaver(std::vector<NamedShard> shards, const ShardedSaverOptions& options)
    : impl_(std::make_unique<Impl>(std::move(shards), options)) {}
ShardedSaver::~ShardedSaver() = default;

std::size_t ShardedSaver::shardOf(std::string_view thread_id) const noexcept {
    return impl_->shard_of[slotOf(thread_id)];
}

void ShardedSaver::put(const PutRequest& request) {
    impl_->onThread(request.log.thread_id, [&](BaseCheckpointSaver& saver) { saver.put(request); });
}

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
    if (shardOf(from) != shardOf(to)) return checkpoint::copyThreadRows(*this, *this, from, to);
    impl_->onThread(to, [&](BaseCheckpointSaver& saver) { saver.copyThread(from, to); });
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
    for (const NamedShard& shard : impl_->shards) {
        const auto bytes = Impl::onShard(shard, [](BaseCheckpointSaver& saver) { return saver.storedBytes(); });
        is_known = is_known && bytes;
        all += bytes.value_or(0);
    }
    return is_known ? std::optional(all) : std::nullopt;
}

}  // namespace stategraph
