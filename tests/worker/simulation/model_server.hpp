#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/postgres_queue.hpp>

#include "tests/worker/simulation/model_queue.hpp"

namespace simulation {

/// Rules that a test switches off, to see that the checks find what follows.
struct Broken {
    bool ignores_epochs = false;   // a put under a lease that was lost is stored
    bool ignores_heads = false;    // and everything that was committed since; on_put is not called
    bool takes_late = false;       // an input is taken when its worker leaves the thread, and not with a commit
    bool ignores_keys = false;     // an input whose key exists is stored again
    bool forgets_leases = false;   // a lease that ran out is not due
    bool forgets_crashes = false;  // the number of `uptime` survives a crash
    bool loses_wakes = false;      // an answer does not make its thread due
};

/// Called for each put before it is stored: for checks that do not trust the model.
struct StoredPut {
    std::string_view thread_id;
    std::optional<std::int64_t> epoch;  // none: without a lease
    std::span<const sg::CommitRow> commits;
};

/// A PostgreSQL server with one schema, as values: rows of savers in a MemorySaver, the queue in a ModelQueue, and a
/// log of what was written, whose end a crash loses. Each function is one statement. One thread at a time may use it.
class ModelServer {
public:
    explicit ModelServer(Broken broken = {}) : broken_(broken), rows_(std::make_unique<sg::MemorySaver>()) {}

    /// The server's clock, since 1970. Whoever calls sets it first.
    Time now{0};
    /// What synchronous_commit is for statements that do not say it.
    bool is_sync_by_default = true;
    std::function<void(const StoredPut&)> on_put;
    std::function<void(const sg::Claim&)> on_claim;

    std::vector<sg::Receipt> submit(std::span<const sg::QueuedInput> inputs);
    bool withdraw(std::string_view thread_id, std::int64_t number) {
        return change(thread_id, is_sync_by_default, [&] { return queue_.withdraw(thread_id, number); });
    }
    bool cancel(std::string_view thread_id) {
        return change(thread_id, true, [&] { return queue_.cancel(thread_id, now); });
    }
    bool wake(std::string_view thread_id) {
        return change(thread_id, is_sync_by_default, [&] { return queue_.wake(thread_id, now); });
    }
    bool retry(std::string_view thread_id) {
        return change(thread_id, is_sync_by_default, [&] { return queue_.retry(thread_id, now); });
    }
    std::vector<sg::Claim> claim(const sg::ClaimRequest& request);
    std::vector<std::string> begin(std::span<const sg::HeldLease> held);
    std::vector<sg::Renewed> renew(std::span<const sg::HeldLease> held, std::chrono::milliseconds lease);
    std::vector<std::string> release(std::span<const sg::Release> releases);
    std::size_t forgetKeys(std::chrono::milliseconds kept);

    /// Without a lease, conditional writes wake the thread.
    void put(const sg::PutRequest& request, const std::optional<sg::PutLease>& lease);
    /// What a put whose answer was lost looks for.
    bool isStored(const sg::PutRequest& request);
    void deleteThread(std::string_view thread_id);

    /// The rows, for reading.
    sg::MemorySaver& rows() noexcept { return *rows_; }
    /// The queue's tables, for reading.
    ModelQueue& queue() noexcept { return queue_; }

    /// What was written last, and was not on the disk, may be gone: `kept(n)` says how many of n changes are left.
    template <class Kept>
    void crash(Kept kept);
    /// As a crash that loses nothing.
    void restart() { queue_.uptime = broken_.forgets_crashes ? queue_.uptime : 0; }

private:
    using Row = std::pair<std::string, ModelThread>;
    struct Change {
        std::vector<Row> before;
        std::int64_t epochs = 0;
        std::int64_t numbers = 0;
        std::size_t puts = 0;
    };
    using Put = std::function<void(sg::MemorySaver&)>;

    Change beginChange() const { return {{}, queue_.epochs, queue_.numbers, puts_.size()}; }
    void note(Change& change, std::string_view thread_id) const {
        const auto found = queue_.threads.find(thread_id);
        change.before.emplace_back(thread_id, found == queue_.threads.end() ? ModelThread() : found->second);
    }
    /// On the disk with everything before it, or at some later time.
    void commit(Change change, bool sync) {
        unsafe_.push_back(std::move(change));
        if (sync) unsafe_.clear();
    }
    template <class Call>
    bool change(std::string_view thread_id, bool sync, Call call) {
        Change made = beginChange();
        note(made, thread_id);
        const bool answer = call();
        commit(std::move(made), sync);
        return answer;
    }
    sg::CheckpointId headOf(std::string_view thread_id) {
        const auto heads =
            rows_->list({.thread_id = std::string(thread_id), .checkpoint_ns = "", .limit = 1, .heads = true});
        return heads.empty() ? sg::CheckpointId() : heads.front().id;
    }
    void store(const sg::PutRequest& request);

    const Broken broken_;
    std::unique_ptr<sg::MemorySaver> rows_;
    ModelQueue queue_;
    std::vector<Put> puts_;                                  // all that `rows_` is made of
    std::vector<Change> unsafe_;                             // not on the disk yet
    std::map<std::string, std::int64_t, std::less<>> late_;  // inputs that are to be taken
};

inline std::vector<sg::Receipt> ModelServer::submit(std::span<const sg::QueuedInput> inputs) {
    Change made = beginChange();
    std::vector<sg::QueuedInput> given(inputs.begin(), inputs.end());
    for (sg::QueuedInput& each : given) {
        note(made, each.thread_id);
        if (broken_.ignores_keys) each.key.clear();
    }
    auto receipts = queue_.submit(given, now);
    commit(std::move(made), true);
    return receipts;
}

inline std::vector<sg::Claim> ModelServer::claim(const sg::ClaimRequest& request) {
    Change made = beginChange();
    for (auto& [thread_id, thread] : queue_.threads) {
        if (!thread.work || !thread.work->due || *thread.work->due > now) continue;
        if (broken_.forgets_leases && thread.work->epoch != 0) thread.work->due.reset();
        note(made, thread_id);
    }
    auto claims = queue_.claim(request, now, [this](const std::string& thread_id) { return headOf(thread_id); });
    commit(std::move(made), true);
    for (const sg::Claim& each : claims) {
        if (on_claim) on_claim(each);
    }
    return claims;
}

inline std::vector<std::string> ModelServer::begin(std::span<const sg::HeldLease> held) {
    Change made = beginChange();
    for (const sg::HeldLease& each : held) note(made, each.thread_id);
    auto begun = queue_.begin(held);
    commit(std::move(made), true);
    return begun;
}

inline std::vector<sg::Renewed> ModelServer::renew(std::span<const sg::HeldLease> held,
                                                   std::chrono::milliseconds lease) {
    Change made = beginChange();
    for (const sg::HeldLease& each : held) note(made, each.thread_id);
    auto renewed = queue_.renew(held, lease, now);
    commit(std::move(made), is_sync_by_default);
    return renewed;
}

inline std::vector<std::string> ModelServer::release(std::span<const sg::Release> releases) {
    Change made = beginChange();
    for (const sg::Release& each : releases) {
        note(made, each.thread_id);
        const auto late = late_.find(each.thread_id);
        if (late == late_.end() || !queue_.hasLease(each.thread_id, each.epoch)) continue;
        if (queue_.waiting(each.thread_id, late->second)) queue_.take(each.thread_id, late->second, now);
        late_.erase(late);
    }
    auto released = queue_.release(releases, now);
    commit(std::move(made), is_sync_by_default);
    return released;
}

inline std::size_t ModelServer::forgetKeys(std::chrono::milliseconds kept) {
    Change made = beginChange();
    for (const auto& [thread_id, thread] : queue_.threads) note(made, thread_id);
    const std::size_t forgotten = queue_.forgetKeys(kept, now);
    commit(std::move(made), is_sync_by_default);
    return forgotten;
}

/// The rows of a request, which outlive it.
struct OwnedPut {
    explicit OwnedPut(const sg::PutRequest& request)
        : thread_id(request.log.thread_id),
          checkpoint_ns(request.log.checkpoint_ns),
          expected_head(request.expected_head),
          outlook(request.outlook) {
        for (const sg::CommitRow& row : request.commits) commits.push_back({row, std::string(row.bytes)});
        for (const sg::WriteRow& row : request.writes)
            writes.push_back({row.checkpoint_id, std::string(row.path), std::string(row.bytes)});
    }
    void store(sg::MemorySaver& saver) const {
        std::vector<sg::CommitRow> commit_rows;
        for (const auto& [row, bytes] : commits)
            commit_rows.push_back({.id = row.id, .parent = row.parent, .base = row.base, .bytes = bytes});
        std::vector<sg::WriteRow> write_rows;
        for (const Write& each : writes) write_rows.push_back({each.id, each.path, each.bytes});
        saver.put({.log = {thread_id, checkpoint_ns},
                   .expected_head = expected_head,
                   .commits = commit_rows,
                   .writes = write_rows,
                   .outlook = outlook});
    }

    struct Write {
        sg::CheckpointId id;
        std::string path;
        std::string bytes;
    };
    std::string thread_id;
    std::string checkpoint_ns;
    sg::CheckpointId expected_head;
    std::vector<std::pair<sg::CommitRow, std::string>> commits;
    std::vector<Write> writes;
    sg::ThreadOutlook outlook;
};

inline void ModelServer::store(const sg::PutRequest& request) {
    sg::PutRequest stored = request;
    std::vector<sg::CommitRow> commits(request.commits.begin(), request.commits.end());
    for (sg::CommitRow& row : commits) row.buffer = nullptr;  // the caller has it, and may send it again
    stored.commits = commits;
    if (broken_.ignores_heads && request.log.checkpoint_ns.empty())
        stored.expected_head = headOf(request.log.thread_id);
    OwnedPut owned(stored);
    rows_->put(stored);
    puts_.push_back([owned = std::move(owned)](sg::MemorySaver& saver) { owned.store(saver); });
}

inline void ModelServer::put(const sg::PutRequest& request, const std::optional<sg::PutLease>& lease) {
    const std::string_view thread_id = request.log.thread_id;
    Change made = beginChange();
    note(made, thread_id);
    if (lease && !broken_.ignores_epochs && !queue_.hasLease(thread_id, lease->epoch))
        throw sg::LeaseLostError("the lease with epoch " + std::to_string(lease->epoch) + " is lost");
    if (lease && lease->takes && !queue_.waiting(thread_id, *lease->takes))
        throw sg::ConcurrentUpdateError("input " + std::to_string(*lease->takes) + " of the queue was withdrawn");
    store(request);
    if (on_put && !request.commits.empty() && !broken_.ignores_heads)
        on_put({thread_id, lease ? std::optional(lease->epoch) : std::nullopt, request.commits});
    bool may_wake = !lease;
    for (const sg::WriteRow& row : request.writes) may_wake = may_wake && row.expected.has_value();
    if (may_wake && !request.writes.empty() && !broken_.loses_wakes) (void)queue_.wake(thread_id, now);
    if (lease && lease->takes && broken_.takes_late) late_.insert_or_assign(std::string(thread_id), *lease->takes);
    if (lease && lease->takes && !broken_.takes_late) queue_.take(thread_id, *lease->takes, now);
    commit(std::move(made), request.sync);
}

inline bool ModelServer::isStored(const sg::PutRequest& request) {
    const std::string thread_id(request.log.thread_id);
    const std::string checkpoint_ns(request.log.checkpoint_ns);
    if (!request.commits.empty()) {
        const sg::TupleQuery query{{thread_id, checkpoint_ns}, request.commits.back().id};
        return rows_->getTuple(query).has_value();
    }
    for (const sg::WriteRow& row : request.writes) {
        const auto tuple = rows_->getTuple({{thread_id, checkpoint_ns}, row.checkpoint_id});
        if (!tuple) return false;
        const auto found = std::ranges::find(tuple->writes, row.path, &sg::StoredWrite::path);
        if (found == tuple->writes.end() || found->bytes != row.bytes) return false;
    }
    return !request.writes.empty();
}

inline void ModelServer::deleteThread(std::string_view thread_id) {
    Change made = beginChange();
    note(made, thread_id);
    rows_->deleteThread(thread_id);
    puts_.push_back([name = std::string(thread_id)](sg::MemorySaver& saver) { saver.deleteThread(name); });
    queue_.threads.erase(std::string(thread_id));
    commit(std::move(made), true);
}

template <class Kept>
void ModelServer::crash(Kept kept) {
    const std::size_t left = kept(unsafe_.size());
    const std::size_t puts = puts_.size();
    while (unsafe_.size() > left) {
        Change& change = unsafe_.back();
        for (auto row = change.before.rbegin(); row != change.before.rend(); ++row)
            queue_.threads[row->first] = std::move(row->second);
        queue_.epochs = change.epochs;
        queue_.numbers = change.numbers;
        puts_.resize(change.puts);
        unsafe_.pop_back();
    }
    unsafe_.clear();
    restart();
    if (puts_.size() == puts) return;
    rows_ = std::make_unique<sg::MemorySaver>();
    for (const Put& put : puts_) put(*rows_);
}

}  // namespace simulation
