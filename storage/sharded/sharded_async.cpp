#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <stategraph/saver_completion.hpp>

#include "storage/sharded/sharded_impl.hpp"

// Asynchronous calls for one thread: they are passed on to the shard that has it, and its failures get its name.
namespace stategraph {

std::exception_ptr ShardedSaver::Impl::named(const NamedShard& shard, const std::exception_ptr& failure) noexcept {
    if (!failure) return failure;
    try {
        onShard(shard, [&](BaseCheckpointSaver& /*saver*/) { std::rethrow_exception(failure); });
    } catch (...) {
        return std::current_exception();
    }
    return failure;
}

// It deletes itself.
class ShardedSaver::Impl::LaterPut final : public PutCompletion {
public:
    LaterPut(const NamedShard& shard, PutCompletion& completion) : shard_(shard), completion_(completion) {}

    void complete(std::exception_ptr failure) noexcept override {
        PutCompletion& told = completion_;
        failure = named(shard_, failure);
        delete this;
        told.complete(std::move(failure));
    }

private:
    const NamedShard& shard_;
    PutCompletion& completion_;
};

class ShardedSaver::Impl::LaterRead final : public TupleCompletion {
public:
    LaterRead(const NamedShard& shard, TupleCompletion& completion) : shard_(shard), completion_(completion) {}

    void complete(std::optional<CheckpointTuple> tuple, std::exception_ptr failure) noexcept override {
        TupleCompletion& told = completion_;
        failure = named(shard_, failure);
        delete this;
        told.complete(std::move(tuple), std::move(failure));
    }

private:
    const NamedShard& shard_;
    TupleCompletion& completion_;
};

bool ShardedSaver::answersLater() const noexcept {
    return std::ranges::all_of(impl_->shards, [](const NamedShard& shard) { return shard.saver->answersLater(); });
}

std::size_t ShardedSaver::commitsAhead() const noexcept {
    std::size_t least = impl_->shards.front().saver->commitsAhead();
    for (const NamedShard& shard : impl_->shards) least = std::min(least, shard.saver->commitsAhead());
    return least;
}

void ShardedSaver::asyncPut(const PutRequest& request, PutCompletion& completion) noexcept {
    if (!answersLater()) return BaseCheckpointSaver::asyncPut(request, completion);
    const NamedShard& shard = impl_->shardOf(request.log.thread_id);
    std::unique_ptr<Impl::LaterPut> put;
    try {
        put = std::make_unique<Impl::LaterPut>(shard, completion);
    } catch (...) {
        return completion.complete(std::current_exception());
    }
    shard.saver->asyncPut(request, *put.release());
}

void ShardedSaver::asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept {
    if (!answersLater()) return BaseCheckpointSaver::asyncGetTuple(query, completion);
    const NamedShard& shard = impl_->shardOf(query.log.thread_id);
    std::unique_ptr<Impl::LaterRead> read;
    try {
        read = std::make_unique<Impl::LaterRead>(shard, completion);
    } catch (...) {
        return completion.complete({}, std::current_exception());
    }
    shard.saver->asyncGetTuple(query, *read.release());
}

}  // namespace stategraph
