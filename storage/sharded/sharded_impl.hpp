#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/sharded_saver.hpp>

#include "src/value/times.hpp"
#include "storage/saver/call_threads.hpp"

namespace stategraph {

struct ShardedSaver::Impl {
    Impl(std::shared_ptr<Shards> given, const ShardedSaverOptions& given_options);

    using Map = std::shared_ptr<const ShardMap>;

    Map current() const SG_EXCLUDES(mutex);
    /// Reads the map anew, unless another thread has replaced `known` since.
    Map refresh(const Map& known) SG_EXCLUDES(mutex, refreshing);

    /// Calls `call(BaseCheckpointSaver&)`; errors of the storage name the shard.
    template <class Call>
    auto onShard(std::size_t shard, Call&& call) {
        try {
            return call(shards->saver(shard));
        } catch (const ThreadMovedError&) {
            throw;
        } catch (const SaverError& error) {
            throw SaverError("shard '" + std::string(shards->name(shard)) + "': " + error.message(), error.context());
        }
    }

    /// Calls `call(shard)` with the shard that has the slot, until that does not say that it has moved.
    template <class Call>
    auto onSlot(std::size_t slot, Call&& call) {
        const auto deadline = times::after(std::chrono::steady_clock::now(), options.move_wait);
        auto pause = std::chrono::milliseconds(1);
        for (Map map = current();;) {
            const std::size_t shard = map->shard_of[slot];
            try {
                return call(shard);
            } catch (const ThreadMovedError&) {
                if (std::chrono::steady_clock::now() >= deadline) throw;
            }
            Map newer = refresh(map);
            if (newer->shard_of[slot] == shard) {  // it is moving
                std::this_thread::sleep_for(pause);
                pause = std::min(2 * pause, std::chrono::milliseconds(50));
            }
            map = std::move(newer);
        }
    }

    template <class Call>
    auto onThread(std::string_view thread_id, Call&& call) {
        return onSlot(slotOf(thread_id), [&](std::size_t shard) { return onShard(shard, call); });
    }

    /// Calls `call(map, shard)` for every shard, which returns rows or none, and returns all that is returned, in the
    /// shards' order. If the map has changed meanwhile, a thread may be missing or be there twice, and all are called
    /// again, at least ten times and for as long as `move_wait` says; then it throws ThreadMovedError.
    template <class Call>
    auto onAll(Call&& call) {
        constexpr int tries_min = 10;
        const auto deadline = times::after(std::chrono::steady_clock::now(), options.move_wait);
        for (int tries = 1;; ++tries) {
            const Map before = current();
            std::vector<decltype(call(*before, std::size_t{0}))> answers;
            for (std::size_t shard = 0; shard < shards->count(); ++shard) answers.push_back(call(*before, shard));
            if (refresh(before)->version == before->version) return answers;
            if (tries >= tries_min && std::chrono::steady_clock::now() >= deadline)
                throw ThreadMovedError("a slot moved during each of " + std::to_string(tries) +
                                       " tries to list the threads of all shards; list them again later, or move slots "
                                       "more slowly");
        }
    }
    /// The same, with `call(BaseCheckpointSaver&)`.
    template <class Call>
    auto onAllSavers(Call&& call) {
        return onAll([&](const ShardMap& /*map*/, std::size_t shard) { return onShard(shard, call); });
    }

    /// `may_be_stored` says that an earlier try may have been stored before the slot moved.
    void put(const PutRequest& request, bool may_be_stored);

    bool comesBefore(std::string_view a, std::string_view b) const noexcept;
    /// Pages that are merged must be in the order that Shards::order() says: a list that is read in pages would
    /// otherwise skip threads. Errors: SaverError.
    void checkOrder(std::size_t shard, std::string_view thread_id, std::string_view next) const;
    std::vector<ListedCheckpoint> listByNames(const ListQuery& query);
    /// Shard by shard, without those that cannot be reached, and then throws the error of the first one.
    template <class Call>
    void onEach(Call&& call) {
        std::exception_ptr first;
        for (std::size_t shard = 0; shard < shards->count(); ++shard) {
            try {
                onShard(shard, call);
            } catch (const SaverError&) {
                if (!first) first = std::current_exception();
            }
        }
        if (first) std::rethrow_exception(first);
    }

    /// Asynchronous calls for one thread (sharded_async.cpp).
    class LaterCall;
    class LaterPut;
    class LaterRead;

    const std::shared_ptr<Shards> shards;
    const ShardedSaverOptions options;
    const ThreadOrder order;
    detail::Mutex refreshing;  // before `mutex`: one thread at a time reads the map
    mutable detail::Mutex mutex;
    Map map SG_GUARDED_BY(mutex);
    // Asynchronous calls that cannot be passed on wait on them.
    static constexpr std::size_t threads_max = 8;
    std::unique_ptr<checkpoint::CallThreads> threads = std::make_unique<checkpoint::CallThreads>(threads_max);
};

}  // namespace stategraph
