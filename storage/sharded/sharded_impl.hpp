#pragma once
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/sharded_saver.hpp>

// What the sharded saver's files share: calls of one shard, and of all.
namespace stategraph {

struct ShardedSaver::Impl {
    Impl(std::vector<NamedShard> given, const ShardedSaverOptions& options);

    const NamedShard& shardOf(std::string_view thread_id) const noexcept { return shards[shard_of[slotOf(thread_id)]]; }

    /// Calls `call(BaseCheckpointSaver&)`; errors of the storage name the shard.
    template <class Call>
    static auto onShard(const NamedShard& shard, Call&& call) {
        try {
            return call(*shard.saver);
        } catch (const SaverError& error) {
            throw SaverError("shard '" + shard.name + "': " + error.message(), error.context());
        }
    }
    /// The same of a failure that a shard has answered; null stays null.
    static std::exception_ptr named(const NamedShard& shard, const std::exception_ptr& failure) noexcept;
    template <class Call>
    auto onThread(std::string_view thread_id, Call&& call) const {
        return onShard(shardOf(thread_id), call);
    }
    /// Shard by shard, without those that cannot be reached, and then throws the error of the first one.
    template <class Call>
    void onEach(Call&& call) const {
        std::exception_ptr first;
        for (const NamedShard& shard : shards) {
            try {
                onShard(shard, call);
            } catch (const SaverError&) {
                if (!first) first = std::current_exception();
            }
        }
        if (first) std::rethrow_exception(first);
    }

    bool comesBefore(std::string_view a, std::string_view b) const noexcept;
    /// Pages that are merged must be in the order that the options say: a list that is read in pages would otherwise
    /// skip threads. Errors: SaverError.
    void checkOrder(const NamedShard& shard, std::string_view thread_id, std::string_view next) const;
    std::vector<ListedCheckpoint> listByNames(const ListQuery& query) const;

    /// Asynchronous calls for one thread (sharded_async.cpp).
    class LaterPut;
    class LaterRead;

    const std::vector<NamedShard> shards;
    const ThreadOrder order;
    const std::vector<std::size_t> shard_of;
};

}  // namespace stategraph
