#include <stategraph/postgres_queue.hpp>

#include <algorithm>
#include <utility>

#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>

#include "src/value/times.hpp"
#include "storage/postgres/postgres_impl.hpp"
#include "worker/queue/postgres_queue_calls.hpp"

// The calls of the queue that give work, take it and give it back. Those that read are in postgres_queue_view.cpp, and
// those of leases in postgres_queue_leases.cpp.
namespace stategraph {
namespace {

using checkpoint::PostgresArray;
using checkpoint::PostgresConnection;
using checkpoint::PostgresParameters;
using checkpoint::PostgresResult;
constexpr int submit_tries_max = 5;

std::string metadataOf(const QueuedInput& input) {
    if (input.metadata.isNull()) return {};
    std::string text = input.metadata.toJson();
    if (text.starts_with('{') && text.size() <= PostgresQueue::metadata_bytes_max) return text;
    throw InvalidArgumentError("the metadata of an input must be an object, of at most " +
                                   std::to_string(PostgresQueue::metadata_bytes_max) + " bytes as JSON; it has " +
                                   std::to_string(text.size()),
                               {.thread_id = input.thread_id});
}

void checkInput(const QueuedInput& input) {
    (void)ThreadId(input.thread_id);
    if (input.thread_id.empty()) throw InvalidArgumentError("an input names no thread; set QueuedInput::thread_id");
    if (input.key.size() > PostgresQueue::key_bytes_max)
        throw InvalidArgumentError("the key of an input has " + std::to_string(input.key.size()) +
                                       " bytes; it may have at most " + std::to_string(PostgresQueue::key_bytes_max),
                                   {.thread_id = input.thread_id});
    queue::checkName("graph", input.graph);
    queue::checkName("queue", input.queue);
    if (input.queue.ends_with('*'))
        throw InvalidArgumentError("the queue '" + input.queue + "' of an input names several; name one of them",
                                   {.thread_id = input.thread_id});
    (void)metadataOf(input);
    const std::size_t bytes = input.input.bytes().size();
    if (bytes > PostgresQueue::input_bytes_max)
        throw InvalidArgumentError("an input has " + std::to_string(bytes) + " bytes; the queue stores at most " +
                                       std::to_string(PostgresQueue::input_bytes_max) +
                                       ": store it elsewhere, and submit where it is",
                                   {.thread_id = input.thread_id});
}

Claim claimOf(const PostgresResult& rows, int row) {
    Claim claim;
    claim.thread_id = rows.copy(row, 0);
    claim.queue = rows.copy(row, 1);
    claim.graph = rows.copy(row, 2);
    claim.epoch = rows.number(row, 3);
    claim.state = queue::stateOf(rows.number(row, 4));
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
    claim.apart = rows.number(row, 15);
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

// Returns the milliseconds for the statement: a wake time or a delay, depending on the outcome.
std::int64_t timeOf(const Release& release) {
    if (release.outcome == WorkOutcome::sleeps && release.wake_at) return times::unixMs(*release.wake_at);
    return release.outcome == WorkOutcome::retry ? std::max<std::int64_t>(release.delay.count(), 0) : 0;
}

}  // namespace

void queue::checkName(const char* what, std::string_view name) {
    constexpr std::size_t most = PostgresQueue::name_bytes_max;
    const bool is_short = !name.empty() && name.size() <= most && name.find('\0') == name.npos;
    if (is_short && detail::isUtf8(name)) return;
    const std::string wrong = is_short ? "is not UTF-8" : "has " + std::to_string(name.size()) + " bytes";
    throw InvalidArgumentError("the name of a " + std::string(what) + " " + wrong +
                               "; in the queue it must have 1 to " + std::to_string(most) +
                               " bytes of UTF-8, and none of value 0");
}

std::vector<Receipt> PostgresQueue::submit(std::span<const QueuedInput> inputs) {
    if (inputs.empty()) return {};
    saver_->impl_->checkWritable();
    PostgresArray threads(checkpoint::bytea_type);
    PostgresArray queues(checkpoint::text_type);
    PostgresArray graphs(checkpoint::text_type);
    PostgresArray keys(checkpoint::bytea_type);
    PostgresArray values(checkpoint::bytea_type);
    PostgresArray metadata(checkpoint::text_type);
    bool has_keys = true;
    for (const QueuedInput& input : inputs) {
        checkInput(input);
        threads.add(input.thread_id);
        queues.add(input.queue);
        graphs.add(input.graph);
        keys.add(input.key);
        values.add(input.input.bytes());
        metadata.add(metadataOf(input));
        has_keys = has_keys && !input.key.empty();
    }
    PostgresParameters parameters;
    for (const PostgresArray* array : {&threads, &queues, &graphs, &keys, &values, &metadata})
        parameters.owned(array->encoded());
    parameters.number(static_cast<std::int64_t>(inputs_max));
    const auto run = [&](PostgresConnection& connection) {
        return connection.run(statements_->submit, parameters, "submit inputs");
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
    return queue::change(*saver_->impl_, statements_->withdraw, PostgresParameters().bytes(thread_id).number(number),
                         "withdraw an input")
               .rows() > 0;
}

bool PostgresQueue::wake(std::string_view thread_id) {
    (void)ThreadId(thread_id);
    const bool is_there =
        queue::change(*saver_->impl_, statements_->wake, PostgresParameters().bytes(thread_id), "wake a thread")
            .rows() > 0;
    if (is_there) saver_->impl_->tellOthers(PostgresNotice::work);
    return is_there;
}

void PostgresQueue::checkClaim(const ClaimRequest& request) {
    queue::checkName("worker", request.worker);
    queue::checkLease(request.lease);
    for (const ClaimedGraph& graph : request.graphs) queue::checkName("graph", graph.name);
    for (const ClaimedQueue& queue : request.queues) queue::checkName("queue", queue.name);
}

std::vector<Claim> PostgresQueue::claim(const ClaimRequest& request, std::vector<std::string>* limited) {
    checkClaim(request);
    PostgresArray graphs(checkpoint::text_type);
    PostgresArray versions(checkpoint::uuid_type);
    for (const ClaimedGraph& graph : request.graphs) graphs.add(graph.name);
    for (const ClaimedGraph& graph : request.graphs) versions.addId(queue::idOf(graph.version));
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
    parameters.number(static_cast<std::int64_t>(request.running));
    const PostgresResult rows = queue::change(*saver_->impl_, statements_->claim, parameters, "claim threads");
    std::vector<Claim> claims;
    for (int row = 0; row < rows.rows(); ++row) {
        if (!rows.isNull(row, 0))
            claims.push_back(claimOf(rows, row));
        else if (limited)
            limited->push_back(rows.copy(row, 1));
    }
    return claims;
}

DueQueues PostgresQueue::dueQueues(std::string_view prefix, std::string_view after, std::size_t most) {
    constexpr int visits_max = 256;
    return saver_->impl_->pool.repeat([&](PostgresConnection& connection) {
        const auto rows = connection.run(
            statements_->due_queues,
            PostgresParameters().text(prefix).text(after).limit(std::max<std::size_t>(most, 1)).number(visits_max),
            "look for queues with due threads");
        DueQueues found;
        for (int row = 0; row < rows.rows(); ++row) {
            if (rows.flag(row, 1)) found.names.push_back(rows.copy(row, 0));
        }
        const bool may_be_more = rows.rows() == visits_max || found.names.size() >= most;
        if (may_be_more && rows.rows() > 0) found.last = rows.copy(rows.rows() - 1, 0);
        return found;
    });
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
        errors.add(queue::asText(each.error));
        versions.addId(queue::idOf(each.version));
        uptimes.addNumber(each.uptime);
    }
    PostgresParameters parameters;
    for (const PostgresArray* array : {&threads, &epochs, &outcomes, &times, &errors, &versions, &uptimes})
        parameters.owned(array->encoded());
    const PostgresResult rows = queue::change(*saver_->impl_, statements_->release, parameters, "give threads back");
    std::vector<std::string> released;
    for (int row = 0; row < rows.rows(); ++row) released.push_back(rows.copy(row, 0));
    return released;
}

std::size_t PostgresQueue::forgetKeys(std::chrono::milliseconds kept) {
    constexpr std::int64_t at_once = 1000;
    const PostgresResult rows = queue::change(*saver_->impl_, statements_->forget_keys,
                                              PostgresParameters().number(kept.count()).number(at_once), "forget keys");
    return static_cast<std::size_t>(rows.number(0, 0));
}

}  // namespace stategraph
