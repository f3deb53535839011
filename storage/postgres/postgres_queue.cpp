#include <stategraph/postgres_queue.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>

#include "src/value/times.hpp"
#include "storage/postgres/postgres_impl.hpp"
#include "storage/postgres/postgres_queue_statements.hpp"

// The calls of the queue. It is longer than other files because each call has its parameters and its rows next to it.
namespace stategraph {
namespace {

using checkpoint::PostgresArray;
using checkpoint::PostgresConnection;
using checkpoint::PostgresFence;
using checkpoint::PostgresParameters;
using checkpoint::PostgresResult;
constexpr int submit_tries_max = 5;

void checkName(const char* what, std::string_view name) {
    constexpr std::size_t most = PostgresQueue::name_bytes_max;
    const bool is_short = !name.empty() && name.size() <= most && name.find('\0') == name.npos;
    if (is_short && detail::isUtf8(name)) return;
    const std::string wrong = is_short ? "is not UTF-8" : "has " + std::to_string(name.size()) + " bytes";
    throw InvalidArgumentError("the name of a " + std::string(what) + " " + wrong +
                               "; in the queue it must have 1 to " + std::to_string(most) +
                               " bytes of UTF-8, and none of value 0");
}

void checkLease(std::chrono::milliseconds lease) {
    if (lease >= std::chrono::seconds(1) && lease <= std::chrono::hours(24)) return;
    throw InvalidArgumentError("a lease is " + std::to_string(lease.count()) + " ms; it must be 1000 to 86400000");
}

void checkInput(const QueuedInput& input) {
    (void)ThreadId(input.thread_id);
    if (input.thread_id.empty()) throw InvalidArgumentError("an input names no thread; set QueuedInput::thread_id");
    if (input.key.size() > PostgresQueue::key_bytes_max)
        throw InvalidArgumentError("the key of an input has " + std::to_string(input.key.size()) +
                                       " bytes; it may have at most " + std::to_string(PostgresQueue::key_bytes_max),
                                   {.thread_id = input.thread_id});
    checkName("graph", input.graph);
    checkName("queue", input.queue);
    const std::size_t bytes = input.input.bytes().size();
    if (bytes > PostgresQueue::input_bytes_max)
        throw InvalidArgumentError("an input has " + std::to_string(bytes) + " bytes; the queue stores at most " +
                                       std::to_string(PostgresQueue::input_bytes_max) +
                                       ": store it elsewhere, and submit where it is",
                                   {.thread_id = input.thread_id});
}

// A number that no state has, in a row of another program, counts as begun, so that its run is looked for.
WorkState stateOf(std::int64_t number) noexcept {
    const bool is_known = number >= 0 && number <= static_cast<std::int64_t>(WorkState::sleeping);
    return is_known ? static_cast<WorkState>(number) : WorkState::begun;
}

CheckpointId idOf(const GraphFingerprint& version) { return {version.graph, version.schema}; }

std::vector<QueuedThread> queuedThreads(const PostgresResult& rows) {
    std::vector<QueuedThread> threads;
    for (int row = 0; row < rows.rows(); ++row) {
        QueuedThread& thread = threads.emplace_back();
        thread.thread_id = rows.copy(row, 0);
        thread.queue = rows.copy(row, 1);
        thread.graph = rows.copy(row, 2);
        thread.state = stateOf(rows.number(row, 3));
        if (!rows.isNull(row, 4)) thread.due = times::ofUnixMs(rows.number(row, 4));
        thread.epoch = rows.number(row, 5);
        thread.worker = rows.copy(row, 6);
        thread.attempts = rows.number(row, 7);
        thread.inputs = rows.number(row, 8);
        thread.is_set_aside = rows.flag(row, 9);
        thread.is_cancelled = rows.flag(row, 10);
        thread.error = rows.copy(row, 11);
    }
    return threads;
}

Claim claimOf(const PostgresResult& rows, int row) {
    Claim claim;
    claim.thread_id = rows.copy(row, 0);
    claim.queue = rows.copy(row, 1);
    claim.graph = rows.copy(row, 2);
    claim.epoch = rows.number(row, 3);
    claim.state = stateOf(rows.number(row, 4));
    claim.attempts = rows.number(row, 5);
    claim.is_woken = rows.flag(row, 6);
    claim.is_cancelled = rows.flag(row, 7);
    if (!rows.isNull(row, 8)) claim.head = rows.id(row, 8);
    if (!rows.isNull(row, 9)) {
        const CheckpointId version = rows.id(row, 9);
        claim.version = GraphFingerprint{version.high(), version.low()};
    }
    claim.error = rows.copy(row, 10);
    if (!rows.isNull(row, 11)) {
        claim.input_number = rows.number(row, 11);
        // The other claimed threads must not wait for this one.
        try {
            claim.input = Value::fromCbor(rows.copy(row, 12));
        } catch (const Error& why) {
            claim.unreadable = "its input " + std::to_string(*claim.input_number) +
                               " cannot be read: " + why.message() +
                               "; withdraw it (PostgresQueue::withdraw), and let workers try the thread again (retry)";
        }
    }
    if (!rows.isNull(row, 13)) claim.uptime = rows.number(row, 13);
    claim.due = times::ofUnixMs(rows.number(row, 14));
    return claim;
}

// The database names the input by its place, counted from 1.
void refuseInput(std::span<const QueuedInput> inputs, const checkpoint::PostgresRefused& error) {
    const bool is_full = error.sqlstate() == "SG004";
    if (!is_full && error.sqlstate() != "SG005") return;
    const QueuedInput& input = inputs[std::stoul(error.said()) - 1];
    if (is_full)
        throw InvalidArgumentError("the thread has " + std::to_string(PostgresQueue::inputs_max) +
                                       " inputs that wait, and takes no more: wait until its runs have taken some. "
                                       "Nothing of the call was stored",
                                   {.thread_id = input.thread_id});
    throw InvalidArgumentError("the thread is in the queue with another graph than '" + input.graph +
                                   "': submit this input when that is done, or to another thread. Nothing of the call "
                                   "was stored",
                               {.thread_id = input.thread_id});
}

// Calls `run(PostgresConnection&)`. It calls it again after a conflict with others, and over a new connection only if
// `run` may be executed twice.
template <class Run>
PostgresResult submitOver(checkpoint::PostgresPool& pool, bool may_repeat, Run run) {
    if (may_repeat) return pool.repeat(run);
    checkpoint::PostgresPool::Lease connection(pool);
    try {
        return run(*connection);
    } catch (const checkpoint::PostgresLost& error) {
        throw SaverError(error.message() +
                         "; whether the inputs were stored is not known: give inputs keys (QueuedInput::key), and a "
                         "call whose connection breaks is repeated");
    }
}

// Runs a statement that changes the queue, and repeats it over a new connection if this one breaks.
template <class Impl>
PostgresResult change(Impl& saver, const checkpoint::PostgresStatement& statement, const PostgresParameters& parameters,
                      const char* work) {
    saver.checkWritable();
    return saver.pool.repeat(
        [&](PostgresConnection& connection) { return connection.run(statement, parameters, work); });
}

// The same for one thread, whose slot must be here.
template <class Impl>
PostgresResult changeThread(Impl& saver, std::string_view thread_id, const checkpoint::PostgresStatement& statement,
                            const PostgresParameters& parameters, const char* work) {
    saver.checkWritable();
    return saver.pool.repeat([&](PostgresConnection& connection) {
        return saver.fence.run(connection, PostgresFence::Access::append, thread_id, statement, parameters, work);
    });
}

// Returns the milliseconds for the statement: a wake time or a delay, depending on the outcome.
std::int64_t timeOf(const Release& release) {
    if (release.outcome == WorkOutcome::sleeps && release.wake_at) return times::unixMs(*release.wake_at);
    return release.outcome == WorkOutcome::retry ? std::max<std::int64_t>(release.delay.count(), 0) : 0;
}

// Makes a text valid for PostgreSQL, which requires UTF-8 without a byte 0; an error of a node may be anything.
std::string asText(std::string_view text) {
    constexpr std::size_t bytes_max = 4000;
    std::string shown(detail::beginningOf(text, bytes_max));
    if (!detail::isUtf8(shown))
        std::ranges::replace_if(
            shown, [](char c) { return c < ' ' || c > '~'; }, '?');
    std::erase(shown, '\0');
    return shown;
}

}  // namespace

const char* toString(WorkState state) noexcept {
    switch (state) {
        case WorkState::idle:
            return "idle";
        case WorkState::begun:
            return "begun";
        case WorkState::waits:
            return "waits";
        case WorkState::sleeping:
            return "sleeping";
    }
    return "unknown";
}

PostgresQueue::PostgresQueue(std::shared_ptr<PostgresSaver> saver) : saver_(std::move(saver)) {
    if (!saver_) throw InvalidArgumentError("a PostgresQueue needs a PostgresSaver, and was given none");
    statements_ = std::make_shared<const Statements>(saver_->impl_->quoted_schema, saver_->impl_->fence.hasSlots());
}

std::vector<Receipt> PostgresQueue::submit(std::span<const QueuedInput> inputs) {
    if (inputs.empty()) return {};
    saver_->impl_->checkWritable();
    PostgresArray threads(checkpoint::bytea_type);
    PostgresArray queues(checkpoint::text_type);
    PostgresArray graphs(checkpoint::text_type);
    PostgresArray keys(checkpoint::bytea_type);
    PostgresArray values(checkpoint::bytea_type);
    std::vector<std::string_view> names;
    bool has_keys = true;
    for (const QueuedInput& input : inputs) {
        checkInput(input);
        names.push_back(input.thread_id);
        threads.add(input.thread_id);
        queues.add(input.queue);
        graphs.add(input.graph);
        keys.add(input.key);
        values.add(input.input.bytes());
        has_keys = has_keys && !input.key.empty();
    }
    PostgresParameters parameters;
    for (const PostgresArray* array : {&threads, &queues, &graphs, &keys, &values}) parameters.owned(array->encoded());
    parameters.number(static_cast<std::int64_t>(inputs_max));
    const auto run = [&](PostgresConnection& connection) {
        return saver_->impl_->fence.run(connection, PostgresFence::Access::append, names, statements_->submit,
                                        parameters, "submit inputs");
    };
    PostgresResult rows;
    for (int tries = 1; rows.rows() == 0; ++tries) {
        try {
            rows = submitOver(saver_->impl_->pool, has_keys, run);
        } catch (const checkpoint::PostgresRefused& error) {
            refuseInput(inputs, error);
            if (!error.mayBeRetried() || tries == submit_tries_max) throw;
        }
    }
    std::string_view told;  // queues are seldom mixed
    for (const QueuedInput& input : inputs) {
        if (input.queue != told) saver_->impl_->tellOthers(PostgresNotice::work, told = input.queue);
    }
    std::vector<Receipt> receipts;
    for (int row = 0; row < rows.rows(); ++row) receipts.push_back({rows.number(row, 2), rows.number(row, 1) == 0});
    return receipts;
}

Receipt PostgresQueue::submit(const QueuedInput& input) { return submit(std::span(&input, 1)).front(); }

bool PostgresQueue::withdraw(std::string_view thread_id, std::int64_t number) {
    (void)ThreadId(thread_id);
    return changeThread(*saver_->impl_, thread_id, statements_->withdraw,
                        PostgresParameters().bytes(thread_id).number(number), "withdraw an input")
               .rows() > 0;
}

bool PostgresQueue::cancel(std::string_view thread_id) {
    (void)ThreadId(thread_id);
    const bool is_there = changeThread(*saver_->impl_, thread_id, statements_->cancel,
                                       PostgresParameters().bytes(thread_id), "cancel a thread")
                              .rows() > 0;
    if (is_there) saver_->impl_->tellOthers(PostgresNotice::cancel);
    return is_there;
}

bool PostgresQueue::wake(std::string_view thread_id) {
    (void)ThreadId(thread_id);
    const bool is_there = changeThread(*saver_->impl_, thread_id, statements_->wake,
                                       PostgresParameters().bytes(thread_id), "wake a thread")
                              .rows() > 0;
    if (is_there) saver_->impl_->tellOthers(PostgresNotice::work);
    return is_there;
}

bool PostgresQueue::retry(std::string_view thread_id) {
    (void)ThreadId(thread_id);
    const bool is_there = changeThread(*saver_->impl_, thread_id, statements_->retry,
                                       PostgresParameters().bytes(thread_id), "retry a thread")
                              .rows() > 0;
    if (is_there) saver_->impl_->tellOthers(PostgresNotice::work);
    return is_there;
}

std::optional<QueuedThread> PostgresQueue::find(std::string_view thread_id) {
    (void)ThreadId(thread_id);
    auto found = saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        return queuedThreads(saver_->impl_->fence.run(connection, PostgresFence::Access::read, thread_id,
                                                      statements_->find, PostgresParameters().bytes(thread_id),
                                                      "look for a thread"));
    });
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::vector<QueuedThread> PostgresQueue::setAside(std::size_t limit, std::string_view after_thread_id) {
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        return queuedThreads(connection.run(statements_->set_aside,
                                            PostgresParameters().bytes(after_thread_id).limit(limit),
                                            "list threads that were set aside"));
    });
}

std::vector<QueueStats> PostgresQueue::stats() {
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows = connection.run(statements_->stats, {}, "count the queue's threads");
        const auto count = [&](int row, int column) { return static_cast<std::size_t>(rows.number(row, column)); };
        std::vector<QueueStats> stats;
        for (int row = 0; row < rows.rows(); ++row)
            stats.push_back({.queue = rows.copy(row, 0),
                             .ready = count(row, 1),
                             .leased = count(row, 2),
                             .later = count(row, 3),
                             .sleeping = count(row, 4),
                             .waiting = count(row, 5),
                             .set_aside = count(row, 6),
                             .inputs = count(row, 7),
                             .oldest = std::chrono::milliseconds(rows.number(row, 8))});
        return stats;
    });
}

void PostgresQueue::checkClaim(const ClaimRequest& request) {
    checkName("worker", request.worker);
    checkLease(request.lease);
    for (const ClaimedGraph& graph : request.graphs) checkName("graph", graph.name);
    for (const ClaimedQueue& queue : request.queues) checkName("queue", queue.name);
}

std::vector<Claim> PostgresQueue::claim(const ClaimRequest& request) {
    checkClaim(request);
    PostgresArray graphs(checkpoint::text_type);
    PostgresArray versions(checkpoint::uuid_type);
    for (const ClaimedGraph& graph : request.graphs) graphs.add(graph.name);
    for (const ClaimedGraph& graph : request.graphs) versions.addId(idOf(graph.version));
    PostgresArray queues(checkpoint::text_type);
    PostgresArray counts(checkpoint::bigint_type);
    PostgresArray after(checkpoint::bigint_type);
    for (const ClaimedQueue& queue : request.queues) {
        queues.add(queue.name);
        counts.addNumber(static_cast<std::int64_t>(queue.most));
        after.addNumber(queue.due_after ? times::unixMs(*queue.due_after) : 0);
    }
    PostgresParameters parameters;
    parameters.text(request.worker).number(request.lease.count());
    for (const PostgresArray* array : {&graphs, &versions, &queues, &counts, &after})
        parameters.owned(array->encoded());
    const PostgresResult rows = change(*saver_->impl_, statements_->claim, parameters, "claim threads");
    std::vector<Claim> claims;
    for (int row = 0; row < rows.rows(); ++row) claims.push_back(claimOf(rows, row));
    return claims;
}

std::vector<Renewed> PostgresQueue::renew(std::span<const HeldLease> held, std::chrono::milliseconds lease) {
    checkLease(lease);
    if (held.empty()) return {};
    PostgresArray threads(checkpoint::bytea_type);
    PostgresArray epochs(checkpoint::bigint_type);
    for (const HeldLease& each : held) {
        threads.add(each.thread_id);
        epochs.addNumber(each.epoch);
    }
    PostgresParameters parameters;
    parameters.owned(threads.encoded()).owned(epochs.encoded()).number(lease.count());
    const PostgresResult rows = change(*saver_->impl_, statements_->renew, parameters, "renew leases");
    std::vector<Renewed> renewed;
    for (int row = 0; row < rows.rows(); ++row) renewed.push_back({rows.copy(row, 0), rows.flag(row, 1)});
    return renewed;
}

std::vector<std::string> PostgresQueue::release(std::span<const Release> releases) {
    if (releases.empty()) return {};
    PostgresArray threads(checkpoint::bytea_type);
    PostgresArray epochs(checkpoint::bigint_type);
    PostgresArray outcomes(checkpoint::bigint_type);
    PostgresArray times(checkpoint::bigint_type);
    PostgresArray errors(checkpoint::text_type);
    PostgresArray versions(checkpoint::uuid_type);
    PostgresArray uptimes(checkpoint::bigint_type);
    for (const Release& each : releases) {
        threads.add(each.thread_id);
        epochs.addNumber(each.epoch);
        outcomes.addNumber(static_cast<std::int64_t>(each.outcome));
        times.addNumber(timeOf(each));
        errors.add(asText(each.error));
        versions.addId(idOf(each.version));
        uptimes.addNumber(each.uptime);
    }
    PostgresParameters parameters;
    for (const PostgresArray* array : {&threads, &epochs, &outcomes, &times, &errors, &versions, &uptimes})
        parameters.owned(array->encoded());
    const PostgresResult rows = change(*saver_->impl_, statements_->release, parameters, "give threads back");
    std::vector<std::string> released;
    for (int row = 0; row < rows.rows(); ++row) released.push_back(rows.copy(row, 0));
    return released;
}

std::size_t PostgresQueue::forgetKeys(std::chrono::milliseconds kept) {
    constexpr std::int64_t at_once = 1000;
    const PostgresResult rows = change(*saver_->impl_, statements_->forget_keys,
                                       PostgresParameters().number(kept.count()).number(at_once), "forget keys");
    return static_cast<std::size_t>(rows.number(0, 0));
}

}  // namespace stategraph
