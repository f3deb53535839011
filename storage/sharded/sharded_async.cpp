#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <stategraph/saver_completion.hpp>

#include "storage/sharded/sharded_impl.hpp"

// Asynchronous calls for one thread. They are passed on to the shard that has its slot, so that no thread waits. If the
// shard is not open yet, or says that the slot has moved, one of a few threads makes the call as blocking callers do.
namespace stategraph {

// It deletes itself.
class ShardedSaver::Impl::LaterCall : public checkpoint::CallThreads::Work {
public:
    virtual ~LaterCall() = default;

protected:
    explicit LaterCall(Impl& of, std::string_view thread_id) : impl_(of), shard_(shardNow(of, thread_id)) {}

    BaseCheckpointSaver* opened() noexcept { return impl_.shards->opened(shard_); }
    /// Has a thread make the call.
    void wait() noexcept {
        if (impl_.threads->isInChild()) return run();
        impl_.threads->submit(*this);
    }
    /// Returns the shard's failure as the caller is to receive it. None: the slot has moved.
    std::optional<std::exception_ptr> named(const std::exception_ptr& failure) noexcept {
        try {
            impl_.onShard(shard_, [&](BaseCheckpointSaver& /*opened*/) { std::rethrow_exception(failure); });
        } catch (const ThreadMovedError& error) {
            may_be_stored_ = error.mayBeStored();
            return std::nullopt;
        } catch (...) {
            return std::current_exception();
        }
        return failure;
    }

    Impl& impl_;
    bool may_be_stored_ = false;

private:
    static std::size_t shardNow(Impl& of, std::string_view thread_id) {
        return of.current()->shard_of[slotOf(thread_id)];
    }

    const std::size_t shard_;
};

class ShardedSaver::Impl::LaterPut final : public LaterCall, public PutCompletion {
public:
    LaterPut(Impl& of, const PutRequest& request, PutCompletion& completion)
        : LaterCall(of, request.log.thread_id), request_(request), completion_(completion) {}

    void begin() noexcept {
        if (BaseCheckpointSaver* const saver = opened()) return saver->asyncPut(request_, *this);
        wait();
    }

private:
    void complete(std::exception_ptr failure) noexcept override {
        if (!failure) return end(nullptr);
        auto told = named(failure);
        if (!told) return wait();
        end(std::move(*told));
    }
    void run() noexcept override {
        std::exception_ptr failure;
        try {
            impl_.put(request_, may_be_stored_);
        } catch (...) {
            failure = std::current_exception();
        }
        end(std::move(failure));
    }
    void end(std::exception_ptr failure) noexcept {
        PutCompletion& told = completion_;
        delete this;
        told.complete(std::move(failure));
    }

    const PutRequest& request_;
    PutCompletion& completion_;
};

class ShardedSaver::Impl::LaterRead final : public LaterCall, public TupleCompletion {
public:
    LaterRead(Impl& of, const TupleQuery& query, TupleCompletion& completion)
        : LaterCall(of, query.log.thread_id), query_(query), completion_(completion) {}

    void begin() noexcept {
        if (BaseCheckpointSaver* const saver = opened()) return saver->asyncGetTuple(query_, *this);
        wait();
    }

private:
    void complete(std::optional<CheckpointTuple> tuple, std::exception_ptr failure) noexcept override {
        if (!failure) return end(std::move(tuple), nullptr);
        auto told = named(failure);
        if (!told) return wait();
        end(std::nullopt, std::move(*told));
    }
    void run() noexcept override {
        std::optional<CheckpointTuple> tuple;
        std::exception_ptr failure;
        try {
            tuple = impl_.onThread(query_.log.thread_id,
                                   [&](BaseCheckpointSaver& saver) { return saver.getTuple(query_); });
        } catch (...) {
            failure = std::current_exception();
        }
        end(std::move(tuple), std::move(failure));
    }
    void end(std::optional<CheckpointTuple> tuple, std::exception_ptr failure) noexcept {
        TupleCompletion& told = completion_;
        delete this;
        told.complete(std::move(tuple), std::move(failure));
    }

    const TupleQuery& query_;
    TupleCompletion& completion_;
};

bool ShardedSaver::answersLater() const noexcept { return impl_->shards->answersLater(); }
std::size_t ShardedSaver::commitsAhead() const noexcept { return impl_->shards->commitsAhead(); }

void ShardedSaver::asyncPut(const PutRequest& request, PutCompletion& completion) noexcept {
    if (!answersLater()) return BaseCheckpointSaver::asyncPut(request, completion);
    std::unique_ptr<Impl::LaterPut> put;
    try {
        put = std::make_unique<Impl::LaterPut>(*impl_, request, completion);
    } catch (...) {
        return completion.complete(std::current_exception());
    }
    put.release()->begin();
}

void ShardedSaver::asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept {
    if (!answersLater()) return BaseCheckpointSaver::asyncGetTuple(query, completion);
    std::unique_ptr<Impl::LaterRead> read;
    try {
        read = std::make_unique<Impl::LaterRead>(*impl_, query, completion);
    } catch (...) {
        return completion.complete({}, std::current_exception());
    }
    read.release()->begin();
}

}  // namespace stategraph
