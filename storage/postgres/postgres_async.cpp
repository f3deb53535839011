#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "storage/postgres/postgres_impl.hpp"
#include "storage/postgres/postgres_one_put.hpp"

// Asynchronous calls: a put waits for others without a thread, and is executed by one of a few threads. A read, and a
// put that cannot be joined with others, wait for one of them.
namespace stategraph {
namespace {

using checkpoint::CallThreads;
using checkpoint::PostgresJoiner;
using checkpoint::PostgresPut;
using Clock = std::chrono::steady_clock;

}  // namespace

// It deletes itself.
class PostgresSaver::Impl::LaterPut final : public CallThreads::Work, public PostgresJoiner::Later {
public:
    LaterPut(Impl& of, const PutRequest& request, const PutLease* lease, PutCompletion& completion)
        : impl_(of),
          lease_(lease != nullptr ? std::optional(*lease) : std::nullopt),
          put_(of.statements, *of.holds, request, this->lease()),
          completion_(completion) {}

    static void begin(std::unique_ptr<LaterPut> given) noexcept {
        LaterPut& put = *given.release();
        try {
            if (!put.impl_.joiner.storeLater(put.put_, put)) put.goAlone(PostgresJoiner::Outcome::alone);
        } catch (...) {
            put.failed(std::current_exception());
        }
    }

private:
    void run() noexcept override {
        if (leads_) return impl_.joiner.lead(*this);
        std::exception_ptr failure;
        try {
            checkpoint::ofPostgresLog(put_.request().log, [this] { impl_.putLater(put_, outcome_); });
        } catch (...) {
            failure = std::current_exception();
        }
        end(std::move(failure));
    }
    void leads() noexcept override {
        leads_ = true;
        impl_.threads->submit(*this);
    }
    void ended(PostgresJoiner::Outcome outcome) noexcept override {
        if (outcome == PostgresJoiner::Outcome::stored) return end(nullptr);
        goAlone(outcome);
    }
    void failed(std::exception_ptr failure) noexcept override {
        try {
            checkpoint::ofPostgresLog(put_.request().log, [&] { std::rethrow_exception(std::move(failure)); });
        } catch (...) {
            end(std::current_exception());
        }
    }
    void goAlone(PostgresJoiner::Outcome outcome) noexcept {
        leads_ = false;
        outcome_ = outcome;
        impl_.threads->submit(*this);
    }
    void end(std::exception_ptr failure) noexcept {
        if (!failure) impl_.tellStored(put_.request(), lease());
        PutCompletion& told = completion_;
        delete this;
        told.complete(std::move(failure));
    }

    const PutLease* lease() const noexcept { return lease_ ? &*lease_ : nullptr; }

    Impl& impl_;
    const std::optional<PutLease> lease_;
    const PostgresPut put_;
    PutCompletion& completion_;
    bool leads_ = false;
    PostgresJoiner::Outcome outcome_ = PostgresJoiner::Outcome::alone;
};

// While a server is away, many puts have lost their connection. A few of them wait until it is back, or give up; those
// after them try once.
void PostgresSaver::Impl::putLater(const PostgresPut& put, PostgresJoiner::Outcome outcome) {
    const Clock::time_point given_up{Clock::duration(gave_up.load(std::memory_order_relaxed))};
    const bool is_away = Clock::now() - given_up < pool.reconnectsFor();
    try {
        putAlone(put, outcome, is_away ? Reconnect::once : Reconnect::for_a_while);
    } catch (const checkpoint::PostgresRefused&) {
        throw;
    } catch (const SaverError&) {
        gave_up.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
        throw;
    }
}

void PostgresSaver::Impl::beginPut(const PutRequest& request, const PutLease* lease,
                                   PutCompletion& completion) noexcept {
    std::unique_ptr<LaterPut> put;
    std::exception_ptr failure;
    try {
        if (pool.isOwnProcess()) {
            checkRequest(request);
            put = std::make_unique<LaterPut>(*this, request, lease, completion);
        } else {
            checkAndPut(request, lease);  // a forked child has no threads; the call fails
        }
    } catch (...) {
        failure = std::current_exception();
    }
    if (!put) return completion.complete(std::move(failure));
    LaterPut::begin(std::move(put));
}

std::size_t PostgresSaver::commitsAhead() const noexcept { return impl_->commits_ahead; }

void PostgresSaver::asyncPut(const PutRequest& request, PutCompletion& completion) noexcept {
    impl_->beginPut(request, nullptr, completion);
}

void PostgresSaver::asyncPut(const PutRequest& request, const PutLease& lease, PutCompletion& completion) noexcept {
    impl_->beginPut(request, &lease, completion);
}

void PostgresSaver::asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept {
    // It deletes itself.
    struct LaterRead final : CallThreads::Work {
        LaterRead(PostgresSaver& from, const TupleQuery& asked, TupleCompletion& told)
            : saver(from), query(asked), completion(told) {}
        void run() noexcept override {
            PostgresSaver& from = saver;
            TupleCompletion& told = completion;
            const TupleQuery asked = query;
            delete this;
            from.BaseCheckpointSaver::asyncGetTuple(asked, told);
        }
        PostgresSaver& saver;
        const TupleQuery query;
        TupleCompletion& completion;
    };
    if (!impl_->pool.isOwnProcess()) return BaseCheckpointSaver::asyncGetTuple(query, completion);
    LaterRead* read = nullptr;
    try {
        read = new LaterRead(*this, query, completion);
    } catch (...) {
        return completion.complete({}, std::current_exception());
    }
    impl_->threads->submit(*read);
}

}  // namespace stategraph
