#include <stategraph/leased_saver.hpp>

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>

#include "worker/queue/lease_book.hpp"

namespace stategraph {

struct LeasedSaver::Impl : checkpoint::LeaseBook {
    explicit Impl(std::shared_ptr<PostgresSaver> given) : saver(std::move(given)) {}

    const std::shared_ptr<PostgresSaver> saver;
};

namespace {

std::shared_ptr<PostgresSaver> checked(std::shared_ptr<PostgresSaver> saver) {
    if (!saver) throw InvalidArgumentError("a LeasedSaver needs a PostgresSaver, and was given none");
    return saver;
}

}  // namespace

LeasedSaver::LeasedSaver(std::shared_ptr<PostgresSaver> saver)
    : ForwardingSaver(checked(saver)), impl_(std::make_unique<Impl>(std::move(saver))) {}
LeasedSaver::~LeasedSaver() = default;

const std::shared_ptr<PostgresSaver>& LeasedSaver::saver() const noexcept { return impl_->saver; }

void LeasedSaver::hold(std::string_view thread_id, const PutLease& lease) { impl_->hold(thread_id, lease); }
void LeasedSaver::holdNew(std::string_view thread_id, const PutLease& lease) { impl_->holdNew(thread_id, lease); }
bool LeasedSaver::hasTaken(std::string_view thread_id) const { return impl_->hasTaken(thread_id); }
void LeasedSaver::drop(std::string_view thread_id, std::int64_t epoch) { impl_->drop(thread_id, epoch); }
std::size_t LeasedSaver::held() const { return impl_->held(); }

void LeasedSaver::put(const PutRequest& request) {
    checkpoint::checkPut(request);
    const PutLease lease = impl_->leaseOfPut(request);
    if (request.log.checkpoint_ns.empty()) impl_->noteWritten(request.log.thread_id);
    impl_->saver->put(request, lease);
    impl_->noteStored(request.log.thread_id, lease);
}

namespace {

/// A put that takes an input. It deletes itself.
class TakingPut final : public PutCompletion {
public:
    TakingPut(checkpoint::LeaseBook& book, const PutRequest& request, const PutLease& lease, PutCompletion& completion)
        : book_(book), thread_id_(request.log.thread_id), lease_(lease), completion_(completion) {}

private:
    void complete(std::exception_ptr failure) noexcept override {
        const std::unique_ptr<TakingPut> self(this);
        if (!failure) book_.noteStored(thread_id_, lease_);
        completion_.complete(std::move(failure));
    }

    checkpoint::LeaseBook& book_;
    const std::string_view thread_id_;  // the request exists until the completion is called
    const PutLease lease_;
    PutCompletion& completion_;
};

}  // namespace

void LeasedSaver::asyncPut(const PutRequest& request, PutCompletion& completion) noexcept {
    PutLease lease;
    PutCompletion* told = &completion;
    try {
        checkpoint::checkPut(request);
        lease = impl_->leaseOfPut(request);
        if (request.log.checkpoint_ns.empty()) impl_->noteWritten(request.log.thread_id);
        if (lease.takes) told = new TakingPut(*impl_, request, lease, completion);  // last, because nothing frees it
    } catch (...) {
        return completion.complete(std::current_exception());
    }
    impl_->saver->asyncPut(request, lease, *told);
}

void LeasedSaver::asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept {
    if (query.log.checkpoint_ns.empty() && impl_->isNew(query.log.thread_id))
        return completion.complete(std::nullopt, nullptr);
    impl_->saver->asyncGetTuple(query, completion);
}

void LeasedSaver::deleteThread(std::string_view thread_id) {
    const PutLease lease = impl_->leaseOf(thread_id);
    impl_->saver->deleteThread(thread_id, lease);
    drop(thread_id, lease.epoch);
}

std::optional<CheckpointTuple> LeasedSaver::getTuple(const TupleQuery& query) {
    if (query.log.checkpoint_ns.empty() && impl_->isNew(query.log.thread_id)) return std::nullopt;
    return impl_->saver->getTuple(query);
}
void LeasedSaver::copyThread(std::string_view from, std::string_view to) {
    impl_->noteWritten(to);
    impl_->saver->copyThread(from, to);
}
// The lease keeps other processes from the thread.
std::unique_ptr<ThreadHold> LeasedSaver::tryHold(std::string_view) { return std::make_unique<ThreadHold>(); }
// Handing a put to another thread wakes two more threads for each commit, which costs a worker more than it gains.
bool LeasedSaver::putIsSlow() const noexcept { return false; }

}  // namespace stategraph
