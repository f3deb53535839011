#include <stategraph/encrypted_saver.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

#include "src/checkpoint/sealed_record.hpp"
#include "storage/encrypted/encrypted_box.hpp"
#include "storage/encrypted/encrypted_keys.hpp"
#include "storage/encrypted/encrypted_records.hpp"
#include "storage/saver/copy_thread.hpp"
#include "storage/saver/retention.hpp"

namespace stategraph {
namespace {

using checkpoint::Aes256Gcm;
using checkpoint::keyOf;
using checkpoint::Opener;
using checkpoint::RowKind;
using checkpoint::Sealer;

// Rewrites commits for the saver inside, which stores them sealed.
class Rewriter final : public CommitRewriter {
public:
    Rewriter(const Aes256Gcm& algorithm, checkpoint::KeyRing& keys, const std::function<EncryptionKey()>& current_key,
             CommitRewriter* outer)
        : algorithm_(algorithm), opener_(algorithm, keys), current_key_(current_key), outer_(outer) {}

    std::string wholeCommit(const LogName& log, CheckpointTuple tuple) override {
        opener_.open(log, tuple.commits);
        const RowKey key = keyOf(log, tuple.id);
        const std::string whole = outer_ != nullptr ? outer_->wholeCommit(log, std::move(tuple))
                                                    : checkpoint::wholeCommit(log, std::move(tuple));
        const EncryptionKey current = current_key_();
        checkpoint::checkKey(current);
        return Sealer(algorithm_, current, 1).seal(key, RowKind::commit, whole);
    }

private:
    const Aes256Gcm& algorithm_;
    Opener opener_;
    const std::function<EncryptionKey()>& current_key_;
    CommitRewriter* outer_;
};

bool hasSummary(const PutRequest& request) noexcept {
    return !request.summary.empty() && request.outlook.status != Status::in_flight;
}

// What the saver inside stores of a request's summary, bound to the thread's newest commit. None if there is none, or
// if it becomes too large.
std::string sealSummary(Sealer& sealer, const PutRequest& request) {
    if (!hasSummary(request)) return {};
    const CheckpointId head = request.commits.empty() ? request.expected_head : request.commits.back().id;
    std::string sealed = sealer.seal(keyOf(request.log, head), RowKind::summary, request.summary);
    if (sealed.size() > PutRequest::summary_bytes_max) sealed.clear();
    return sealed;
}

// What the saver inside receives of a request: its rows, sealed.
struct SealedRequest {
    explicit SealedRequest(const PutRequest& request)
        : passed(request),
          commits(request.commits.begin(), request.commits.end()),
          writes(request.writes.begin(), request.writes.end()),
          compared(request.compared.begin(), request.compared.end()) {}
    SealedRequest(const SealedRequest&) = delete;
    SealedRequest& operator=(const SealedRequest&) = delete;

    PutRequest passed;
    std::vector<CommitRow> commits;
    std::vector<WriteRow> writes;
    std::vector<WriteRow> compared;
    std::vector<std::string> sealed;  // reserved, because the rows are views into it
    std::string summary;
};

// A request that the saver inside stores later. It deletes itself.
struct SealedPut final : PutCompletion {
    SealedPut(const PutRequest& given, PutCompletion& completion) : request(given), outer(completion) {}
    void complete(std::exception_ptr failure) noexcept override {
        PutCompletion& told = outer;
        delete this;
        told.complete(std::move(failure));
    }

    SealedRequest request;
    PutCompletion& outer;
};

bool expectsRows(const PutRequest& request) noexcept {
    const auto expects = [](const WriteRow& row) { return row.expected && !row.expected->empty(); };
    return std::ranges::any_of(request.writes, expects) || std::ranges::any_of(request.compared, expects);
}

}  // namespace

struct EncryptedSaver::Impl {
    Impl(BaseCheckpointSaver& saver, EncryptionOptions options)
        : inner(saver),
          current_key(std::move(options.current_key)),
          keys(std::move(options.find_key), options.cached_keys_max) {}

    // The stored rows of the pending writes that are expected to hold something, by checkpoint and path.
    using HeldWrites = std::map<CheckpointId, std::vector<StoredWrite>>;
    HeldWrites readExpected(const PutRequest& request);
    std::string_view findExpected(const PutRequest& request, const WriteRow& row, const HeldWrites& held,
                                  Opener& opener);
    std::string trySealSummary(const PutRequest& request);
    void seal(const PutRequest& request, SealedRequest& to);
    void openTuple(const LogName& log, CheckpointTuple& tuple);
    void openSummaries(std::vector<IndexedThread>& threads);

    BaseCheckpointSaver& inner;
    std::function<EncryptionKey()> current_key;
    checkpoint::KeyRing keys;
    Aes256Gcm algorithm;
    std::unique_ptr<checkpoint::Retention> retention;
};

EncryptedSaver::EncryptedSaver(std::shared_ptr<BaseCheckpointSaver> inner, EncryptionOptions options)
    : ForwardingSaver(std::move(inner)) {
    if (!options.current_key || !options.find_key) {
        throw InvalidArgumentError(
            "EncryptedSaver: current_key or find_key is not set; set both, or use EncryptionOptions::withKey");
    }
    if (options.retention) checkpoint::checkRetention(*options.retention);
    const auto retention = options.retention;
    impl_ = std::make_unique<Impl>(*this->inner(), std::move(options));
    if (retention) impl_->retention = std::make_unique<checkpoint::Retention>(*this, *retention);
}

EncryptedSaver::~EncryptedSaver() { checkpoint::endRetention(impl_->retention); }  // its thread calls prune

RetentionReport EncryptedSaver::retentionReport() const {
    return impl_->retention ? impl_->retention->report() : RetentionReport();
}

EncryptedSaver::Impl::HeldWrites EncryptedSaver::Impl::readExpected(const PutRequest& request) {
    HeldWrites held;
    for (const std::span<const WriteRow> rows : {request.compared, request.writes}) {
        for (const WriteRow& row : rows) {
            if (!row.expected || row.expected->empty() || held.contains(row.checkpoint_id)) continue;
            auto tuple = inner.getTuple({.log = request.log, .checkpoint_id = row.checkpoint_id});
            if (tuple && tuple->head != request.expected_head) {
                checkpoint::refuseHead(request.log, request.expected_head, tuple->head);
            }
            held.emplace(row.checkpoint_id, tuple ? std::move(tuple->writes) : std::vector<StoredWrite>());
        }
    }
    return held;
}

// The same content never has the same ciphertext. So the caller's expectation is compared here, and the inner saver
// makes sure that the row is still the one that was compared.
std::string_view EncryptedSaver::Impl::findExpected(const PutRequest& request, const WriteRow& row,
                                                    const HeldWrites& held, Opener& opener) {
    const auto& writes = held.at(row.checkpoint_id);
    const auto at =
        std::find_if(writes.begin(), writes.end(), [&](const StoredWrite& write) { return write.path == row.path; });
    if (at == writes.end()) checkpoint::refuseWrite(request.log, row);
    const RowKey key = keyOf(request.log, row.checkpoint_id, row.path);
    if (opener.open(key, RowKind::pending_write, at->bytes) != *row.expected) checkpoint::refuseWrite(request.log, row);
    return at->bytes;
}

// A request that stores a status alone is only for the index, so it does not fail for want of a key.
std::string EncryptedSaver::Impl::trySealSummary(const PutRequest& request) {
    try {
        if (!hasSummary(request)) return {};
        const EncryptionKey key = current_key();
        checkpoint::checkKey(key);
        Sealer sealer(algorithm, key, 1);
        return sealSummary(sealer, request);
    } catch (...) {
        return {};
    }
}

// One that cannot be opened counts as missing: the thread is read.
void EncryptedSaver::Impl::openSummaries(std::vector<IndexedThread>& threads) {
    Opener opener(algorithm, keys);
    for (IndexedThread& thread : threads) {
        if (!thread.summary || thread.summary->empty()) continue;
        try {
            const RowKey key = keyOf(LogName{thread.place.thread_id}, thread.place.since);
            thread.summary = opener.open(key, RowKind::summary, *thread.summary);
        } catch (const CorruptCheckpointError&) {
            thread.summary = "";
        }
    }
}

// The rows that are compared have their stored bytes already.
void EncryptedSaver::Impl::seal(const PutRequest& request, SealedRequest& to) {
    to.passed.compared = to.compared;
    if (request.commits.empty() && request.writes.empty()) {
        to.summary = trySealSummary(request);
        to.passed.summary = to.summary;
        return;
    }
    const EncryptionKey key = current_key();
    checkpoint::checkKey(key);
    Sealer sealer(algorithm, key, to.commits.size() + to.writes.size() + 1);
    to.summary = sealSummary(sealer, request);
    to.passed.summary = to.summary;
    to.sealed.reserve(to.commits.size() + to.writes.size());
    for (CommitRow& row : to.commits)
        row.bytes = to.sealed.emplace_back(sealer.seal(keyOf(request.log, row.id), RowKind::commit, row.bytes));
    for (WriteRow& row : to.writes) {
        row.bytes = to.sealed.emplace_back(
            sealer.seal(keyOf(request.log, row.checkpoint_id, row.path), RowKind::pending_write, row.bytes));
    }
    to.passed.commits = to.commits;
    to.passed.writes = to.writes;
}

void EncryptedSaver::put(const PutRequest& request) {
    checkpoint::checkPut(request);
    const Impl::HeldWrites held = impl_->readExpected(request);
    std::optional<Opener> opener;
    if (!held.empty()) opener.emplace(impl_->algorithm, impl_->keys);
    SealedRequest to(request);
    for (const std::span<WriteRow> rows : {std::span(to.compared), std::span(to.writes)}) {
        for (WriteRow& row : rows) {
            if (!row.expected || row.expected->empty()) continue;
            row.expected = impl_->findExpected(request, row, held, *opener);
        }
    }
    impl_->seal(request, to);
    inner()->put(to.passed);
}

void EncryptedSaver::asyncPut(const PutRequest& request, PutCompletion& completion) noexcept {
    if (expectsRows(request)) return BaseCheckpointSaver::asyncPut(request, completion);
    std::unique_ptr<SealedPut> put;
    try {
        checkpoint::checkPut(request);
        put = std::make_unique<SealedPut>(request, completion);
        impl_->seal(request, put->request);
    } catch (...) {
        return completion.complete(std::current_exception());
    }
    SealedPut& begun = *put.release();
    inner()->asyncPut(begun.request.passed, begun);
}

std::optional<std::vector<IndexedThread>> EncryptedSaver::openThreads(const OpenThreadsQuery& query) {
    auto threads = inner()->openThreads(query);
    if (threads && query.with_summaries) impl_->openSummaries(*threads);
    return threads;
}
std::optional<std::vector<IndexedThread>> EncryptedSaver::newestThreads(const NewestThreadsQuery& query) {
    auto threads = inner()->newestThreads(query);
    if (threads && query.with_summaries) impl_->openSummaries(*threads);
    return threads;
}
// A description belongs to no thread, so it is bound to its fingerprint.
void EncryptedSaver::putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) {
    const EncryptionKey key = impl_->current_key();
    checkpoint::checkKey(key);
    Sealer sealer(impl_->algorithm, key, 1);
    inner()->putGraph(fingerprint, sealer.seal(keyOf(fingerprint), RowKind::graph, bytes));
}

std::optional<std::string> EncryptedSaver::getGraph(const GraphFingerprint& fingerprint) {
    auto bytes = inner()->getGraph(fingerprint);
    if (bytes) bytes = Opener(impl_->algorithm, impl_->keys).open(keyOf(fingerprint), RowKind::graph, *bytes);
    return bytes;
}

std::optional<CheckpointTuple> EncryptedSaver::getTuple(const TupleQuery& query) {
    auto tuple = inner()->getTuple(query);
    if (tuple) impl_->openTuple(query.log, *tuple);
    return tuple;
}

void EncryptedSaver::Impl::openTuple(const LogName& log, CheckpointTuple& tuple) {
    Opener opener(algorithm, keys);
    opener.open(log, tuple.commits);
    opener.open(log, tuple.id, tuple.writes);
    if (auto& next = tuple.next) next->bytes = opener.open(keyOf(log, next->id), RowKind::commit, next->bytes);
}

void EncryptedSaver::asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept {
    // Opens what the saver inside has found. It deletes itself.
    struct Opening final : TupleCompletion {
        Opening(Impl& of, const TupleQuery& asked, TupleCompletion& told) : impl(of), query(asked), outer(told) {}
        void complete(std::optional<CheckpointTuple> tuple, std::exception_ptr failure) noexcept override {
            try {
                if (tuple) impl.openTuple(query.log, *tuple);
            } catch (...) {
                tuple.reset();
                failure = std::current_exception();
            }
            TupleCompletion& told = outer;
            delete this;
            told.complete(std::move(tuple), std::move(failure));
        }
        Impl& impl;
        const TupleQuery query;
        TupleCompletion& outer;
    };
    std::unique_ptr<Opening> opening;
    try {
        opening = std::make_unique<Opening>(*impl_, query, completion);
    } catch (...) {
        return completion.complete({}, std::current_exception());
    }
    inner()->asyncGetTuple(query, *opening.release());
}

std::vector<ListedCheckpoint> EncryptedSaver::list(const ListQuery& query) {
    auto listed = inner()->list(query);
    if (listed.empty()) return listed;
    Opener opener(impl_->algorithm, impl_->keys);
    RowBuffer buffer;
    for (auto& row : listed) {
        if (!row.damaged.empty()) continue;
        const LogName log{row.thread_id, row.checkpoint_ns};
        try {
            row.bytes = buffer.add(opener.open(keyOf(log, row.id), RowKind::commit, row.bytes));
            opener.open(log, row.id, row.writes);
        } catch (const CorruptCheckpointError& error) {
            if (query.thread_id) throw;
            row.damaged = error.message();
            row.bytes = {};
            row.writes.clear();
        }
    }
    return listed;
}

void EncryptedSaver::copyThread(std::string_view from, std::string_view to) {
    checkpoint::copyThreadRows(*inner(), *this, from, to);
}

std::size_t EncryptedSaver::prune(const PruneRequest& request) {
    Rewriter rewriter(impl_->algorithm, impl_->keys, impl_->current_key, request.rewriter);
    PruneRequest with = request;
    with.rewriter = &rewriter;
    return inner()->prune(with);
}

}  // namespace stategraph
