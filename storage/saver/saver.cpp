#include <stategraph/saver.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>

namespace stategraph {

BaseCheckpointSaver::~BaseCheckpointSaver() = default;

std::unique_ptr<ThreadHold> BaseCheckpointSaver::tryHold(std::string_view) { return std::make_unique<ThreadHold>(); }

void BaseCheckpointSaver::putWrites(const LogName& log, CheckpointId expected_head, std::span<const WriteRow> writes,
                                    bool sync) {
    put({.log = log, .expected_head = expected_head, .commits = {}, .writes = writes, .sync = sync});
}

void BaseCheckpointSaver::asyncPut(const PutRequest& request, PutCompletion& completion) noexcept {
    std::exception_ptr failure;
    try {
        put(request);
    } catch (...) {
        failure = std::current_exception();
    }
    completion.complete(std::move(failure));
}

void BaseCheckpointSaver::asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept {
    std::optional<CheckpointTuple> tuple;
    std::exception_ptr failure;
    try {
        tuple = getTuple(query);
    } catch (...) {
        failure = std::current_exception();
    }
    completion.complete(std::move(tuple), std::move(failure));
}

void BaseCheckpointSaver::putGraph(const GraphFingerprint&, std::string_view) {}

std::optional<std::string> BaseCheckpointSaver::getGraph(const GraphFingerprint&) { return {}; }

std::optional<std::vector<IndexedThread>> BaseCheckpointSaver::openThreads(const OpenThreadsQuery&) { return {}; }

std::optional<std::vector<IndexedThread>> BaseCheckpointSaver::newestThreads(const NewestThreadsQuery&) { return {}; }

std::optional<std::vector<DueThread>> BaseCheckpointSaver::dueThreads(const DueThreadsQuery&) { return {}; }

std::optional<ThreadCounts> BaseCheckpointSaver::countThreads(std::size_t) { return {}; }

void BaseCheckpointSaver::nextPage(ListQuery& query, const std::vector<ListedCheckpoint>& page) {
    const std::string& last = page.back().thread_id;
    const bool repeats = query.after_thread_id == last ||
                         (query.after_thread_id && page.front().thread_id == *query.after_thread_id) ||
                         (page.size() > 1 && page.front().thread_id == last);
    if (repeats) {
        throw SaverError(
            "the saver's list does not give threads in pages: it must take after_thread_id and heads as ListQuery says",
            {.thread_id = last});
    }
    query.after_thread_id = last;
}

}  // namespace stategraph

namespace stategraph::checkpoint {
namespace {

std::string show(CheckpointId id) { return id.empty() ? "none (an empty log)" : id.toString(); }

[[noreturn]] void refuseRow(const LogName& log, CheckpointId id, const std::string& why) {
    throw InvalidArgumentError("put: " + why, {.thread_id = std::string(log.thread_id),
                                               .checkpoint_ns = std::string(log.checkpoint_ns),
                                               .checkpoint_id = id.empty() ? std::string() : id.toString()});
}

void checkNamed(const LogName& log, const WriteRow& row) {
    if (row.checkpoint_id.empty())
        refuseRow(log, {}, "the pending write '" + std::string(row.path) + "' names no checkpoint");
}

}  // namespace

void checkPut(const PutRequest& request) {
    const LogName& log = request.log;
    if (log.thread_id.empty()) {
        throw InvalidArgumentError("put: the thread id is empty; give every thread a name of at least one byte");
    }
    CheckpointId newest = request.expected_head;
    for (const CommitRow& row : request.commits) {
        if (row.id <= newest) {
            refuseRow(log, row.id,
                      "the id is not greater than " + show(newest) + ", which comes before it; ids must ascend");
        }
        if (row.base.empty() || row.base > row.id) {
            refuseRow(log, row.id, "its base must be itself or an older commit, not " + show(row.base));
        }
        if (row.parent >= row.id)
            refuseRow(log, row.id, "its parent " + show(row.parent) + " is not older than itself");
        newest = row.id;
    }
    for (const WriteRow& row : request.writes) checkNamed(log, row);
    for (const WriteRow& row : request.compared) {
        checkNamed(log, row);
        if (!row.expected) {
            refuseRow(log, row.checkpoint_id,
                      "the pending write '" + std::string(row.path) +
                          "' must be compared and has no `expected`; set it (empty if the row must not exist)");
        }
    }
    if (!Statuses::indexed().has(request.outlook.status)) {
        refuseRow(log, newest,
                  "an index does not keep the status " + std::string(toString(request.outlook.status)) +
                      "; a writer says one of Statuses::indexed() in `outlook`");
    }
    if ((request.outlook.status == Status::sleeping) != request.outlook.due.has_value()) {
        refuseRow(log, newest,
                  "a sleeping thread has a wake time in `outlook`, and no other thread has one; the status is " +
                      std::string(toString(request.outlook.status)));
    }
    if (request.summary.size() > PutRequest::summary_bytes_max) {
        refuseRow(log, newest,
                  "the summary has " + std::to_string(request.summary.size()) + " bytes; at most " +
                      std::to_string(PutRequest::summary_bytes_max) + " are stored");
    }
}

void refuseHead(const LogName& log, CheckpointId expected, CheckpointId actual) {
    const char* const was_deleted = actual.empty() ? " (the thread may have been deleted meanwhile)" : "";
    throw ConcurrentUpdateError(
        "another run committed first: the newest checkpoint is " + show(actual) + ", this run knew " + show(expected) +
            was_deleted + "; nothing of it was stored. Read the thread again and retry",
        {.thread_id = std::string(log.thread_id), .checkpoint_ns = std::string(log.checkpoint_ns)});
}

bool isInRequest(const PutRequest& request, std::size_t count, CheckpointId id) noexcept {
    return std::ranges::binary_search(request.commits.first(count), id, {}, &CommitRow::id);
}

void refuseRoot(const PutRequest& request) {
    throw ConcurrentUpdateError(
        "the thread was deleted, or its checkpoint " + show(request.root) +
            " pruned, while a run was under way; nothing of the subgraph's log was stored",
        {.thread_id = std::string(request.log.thread_id), .checkpoint_ns = std::string(request.log.checkpoint_ns)});
}

void refuseAncestor(const LogName& log, CheckpointId id, CheckpointId gone) {
    throw ConcurrentUpdateError(
        "checkpoint " + show(id) + " builds on " + show(gone) +
            ", which was pruned meanwhile; nothing of it was stored. Begin at a checkpoint that the thread still has",
        {.thread_id = std::string(log.thread_id),
         .checkpoint_ns = std::string(log.checkpoint_ns),
         .checkpoint_id = id.toString()});
}

void refuseWrite(const LogName& log, const WriteRow& row) {
    throw ConcurrentUpdateError("another run changed the pending write '" + std::string(row.path) +
                                    "' first; nothing of this one was stored. Read the thread again and retry",
                                {.thread_id = std::string(log.thread_id),
                                 .checkpoint_ns = std::string(log.checkpoint_ns),
                                 .checkpoint_id = row.checkpoint_id.toString()});
}

void checkExpected(const LogName& log, const WriteRow& row, const std::optional<std::string_view>& stored) {
    if (!row.expected) return;
    if (row.expected->empty() ? stored.has_value() : stored != row.expected) refuseWrite(log, row);
}

void refuseCopy(std::string_view from, std::string_view to) {
    throw InvalidArgumentError("cannot copy thread '" + std::string(from) + "' to '" + std::string(to) +
                               "': the target has checkpoints; delete it first or choose another name");
}

std::vector<ListedCheckpoint> listEach(BaseCheckpointSaver& saver, const ListQuery& query) {
    std::vector<ListedCheckpoint> listed;
    for (const std::string& thread_id : query.thread_ids) {
        if (query.limit && listed.size() >= *query.limit) break;
        ListQuery each = query;
        each.thread_ids.clear();
        each.thread_id = thread_id;
        each.after_thread_id.reset();
        if (query.limit) each.limit = *query.limit - listed.size();
        std::ranges::move(saver.list(each), std::back_inserter(listed));
    }
    return listed;
}

void checkCopyTarget(std::string_view to) {
    if (to.empty()) throw InvalidArgumentError("copyThread: the target's thread id is empty; give it a name");
}

}  // namespace stategraph::checkpoint
