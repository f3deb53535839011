#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "inspect/app/row_messages.hpp"
#include "inspect/http/api_call.hpp"
#include "inspect/http/row_answers.hpp"

// The rows of the program's saver, for a command that uses the running program as its store. Each operation is a method
// of BaseCheckpointSaver; the messages are in inspect/app/row_messages.hpp.
namespace stategraph::inspect {
namespace {

// A method of the saver as an operation: the message in the body, the answer as a message.
template <class Wanted, class Method>
serve::HandlerAnswer operation(ApiCall& call, Method method) {
    if (!call.api.redaction().patterns().empty())
        throw Refused{403,
                      "this program hides values (ServerOptions::redact), and rows are not redacted; open its "
                      "page instead"};
    try {
        return rowsAnswer(rows::encoded(method(call.api.saver(), rows::decoded<Wanted>(call.request.body))));
    } catch (const Error& error) {
        return rowsFailure(error);
    }
}

void refuseWhileItRuns(const ApiCall& call, const std::string& thread) {
    if (!call.api.runs().last(thread).has_ended)
        throw ThreadBusyError("thread '" + thread + "' has a run that the page began; stop it first");
}

std::vector<WriteRow> writeRows(const std::vector<rows::Write>& given) {
    std::vector<WriteRow> made;
    for (const rows::Write& row : given) made.push_back({row.id.id(), row.path, row.bytes, row.expected});
    return made;
}

rows::Nothing put(BaseCheckpointSaver& saver, const rows::Put& given) {
    std::vector<CommitRow> commits;
    for (const rows::Commit& row : given.commits)
        commits.push_back({row.id.id(), row.parent.id(), row.base.id(), row.bytes});
    const std::vector<WriteRow> writes = writeRows(given.writes);
    const std::vector<WriteRow> compared = writeRows(given.compared);
    saver.put({.log = {given.thread, given.ns},
               .expected_head = given.head.id(),
               .commits = commits,
               .writes = writes,
               .sync = given.sync,
               .outlook = given.outlook.outlook(),
               .compared = compared,
               .summary = given.summary,
               .root = given.root.id(),
               .answers = given.answers});
    return {};
}

rows::StoredRow rowOf(const StoredCommit& commit) { return {commit.id, std::string(commit.bytes.view())}; }

std::optional<rows::Tuple> tuple(BaseCheckpointSaver& saver, const rows::TupleWanted& wanted) {
    auto found = saver.getTuple(
        {.log = {wanted.thread, wanted.ns}, .checkpoint_id = wanted.id.id(), .before = wanted.before.id()});
    if (!found) return {};
    rows::Tuple made{.id = found->id, .head = found->head, .commits = {}, .writes = {}, .next = {}};
    for (const StoredCommit& commit : found->commits) made.commits.push_back(rowOf(commit));
    made.writes = rows::toRows(std::move(found->writes));
    if (found->next) made.next = rowOf(*found->next);
    return made;
}

std::size_t sizeOf(const rows::Listed& row) {
    std::size_t size = row.bytes.size() + row.damaged.size();
    for (const rows::PathRow& write : row.writes) size += write.path.size() + write.bytes.size();
    return size;
}

rows::ListPage list(BaseCheckpointSaver& saver, rows::ListWanted wanted) {
    ListQuery query = rows::fromMessage(std::move(wanted));
    const bool has_pages = rows::hasPages(query);
    const std::size_t limit = std::min(query.limit.value_or(rows::page_rows_max), rows::page_rows_max);
    const bool is_cut = has_pages && limit < query.limit.value_or(limit + 1);
    if (has_pages) query.limit = limit;
    rows::ListPage page;
    std::size_t bytes = 0;
    for (ListedCheckpoint& found : saver.list(query)) {
        page.more = has_pages && bytes > rows::page_bytes_max;
        if (page.more) return page;
        page.rows.push_back({std::move(found.thread_id), std::move(found.checkpoint_ns), found.id,
                             std::string(found.bytes.view()), rows::toRows(std::move(found.writes)),
                             std::move(found.damaged)});
        bytes += sizeOf(page.rows.back());
    }
    page.more = is_cut && page.rows.size() == limit;
    return page;
}

using IndexedRows = std::optional<std::vector<rows::Indexed>>;

IndexedRows rowsOf(std::optional<std::vector<IndexedThread>> found) {
    if (!found) return {};
    std::vector<rows::Indexed> made;
    for (IndexedThread& thread : *found)
        made.push_back(
            {{thread.place.since, std::move(thread.place.thread_id)}, thread.outlook, std::move(thread.summary)});
    return made;
}

IndexedRows openThreads(BaseCheckpointSaver& saver, rows::OpenWanted wanted) {
    return rowsOf(saver.openThreads({.statuses = rows::statusesOf(wanted.statuses),
                                     .after_thread_id = std::move(wanted.after),
                                     .limit = wanted.limit,
                                     .with_summaries = wanted.summaries}));
}

IndexedRows newestThreads(BaseCheckpointSaver& saver, rows::NewestWanted wanted) {
    NewestThreadsQuery query{.statuses = rows::statusesOf(wanted.statuses),
                             .before = {},
                             .limit = wanted.limit,
                             .with_summaries = wanted.summaries};
    if (wanted.before) query.before = ThreadPlace{wanted.before->since.id(), std::move(wanted.before->thread)};
    return rowsOf(saver.newestThreads(query));
}

std::optional<std::vector<rows::Due>> dueThreads(BaseCheckpointSaver& saver, rows::DueWanted wanted) {
    DueThreadsQuery query{.until = wanted.until, .after = {}, .limit = wanted.limit};
    if (wanted.after) query.after = DueThread{wanted.after->due, std::move(wanted.after->thread)};
    auto found = saver.dueThreads(query);
    if (!found) return {};
    std::vector<rows::Due> made;
    for (DueThread& thread : *found) made.push_back({thread.due, std::move(thread.thread_id)});
    return made;
}

std::optional<std::vector<std::uint64_t>> countThreads(BaseCheckpointSaver& saver, const rows::CountWanted& wanted) {
    const auto counts = saver.countThreads(wanted.most);
    if (!counts) return {};
    return std::vector<std::uint64_t>(counts->by_status.begin(), counts->by_status.end());
}

rows::Pruned prune(BaseCheckpointSaver& saver, rows::Prune wanted) {
    if (wanted.rewrite > static_cast<std::uint8_t>(Rewrite::never))
        throw WrongTypeError("there is no way to rewrite with the number " + std::to_string(wanted.rewrite));
    std::vector<DamagedThread> damaged;
    PruneRequest request{.thread_id = std::move(wanted.thread),
                         .keep_last = {},
                         .older_than = wanted.older_than,
                         .threads_unused_since = wanted.unused_since,
                         .rewrite = static_cast<Rewrite>(wanted.rewrite),
                         .damaged = &damaged};
    if (wanted.keep_last) request.keep_last = *wanted.keep_last;
    for (const rows::LogCommits& log : wanted.commits) {
        for (const rows::Id& each : log.ids) request.commits[log.ns].push_back(each.id());
    }
    rows::Pruned pruned{saver.prune(request), {}};
    for (DamagedThread& thread : damaged)
        pruned.damaged.push_back({std::move(thread.thread_id), std::move(thread.why)});
    return pruned;
}

}  // namespace

serve::HandlerAnswer putRows(ApiCall& call) { return operation<rows::Put>(call, put); }
serve::HandlerAnswer tupleRows(ApiCall& call) { return operation<rows::TupleWanted>(call, tuple); }
serve::HandlerAnswer listRows(ApiCall& call) { return operation<rows::ListWanted>(call, list); }
serve::HandlerAnswer openRows(ApiCall& call) { return operation<rows::OpenWanted>(call, openThreads); }
serve::HandlerAnswer newestRows(ApiCall& call) { return operation<rows::NewestWanted>(call, newestThreads); }
serve::HandlerAnswer dueRows(ApiCall& call) { return operation<rows::DueWanted>(call, dueThreads); }
serve::HandlerAnswer countRows(ApiCall& call) { return operation<rows::CountWanted>(call, countThreads); }

serve::HandlerAnswer pruneRows(ApiCall& call) {
    return operation<rows::Prune>(call, [&](BaseCheckpointSaver& saver, rows::Prune wanted) {
        if (wanted.thread) refuseWhileItRuns(call, *wanted.thread);
        return prune(saver, std::move(wanted));
    });
}

serve::HandlerAnswer deleteRows(ApiCall& call) {
    return operation<rows::ThreadNamed>(call, [&](BaseCheckpointSaver& saver, const rows::ThreadNamed& wanted) {
        refuseWhileItRuns(call, wanted.thread);
        saver.deleteThread(wanted.thread);
        return rows::Nothing{};
    });
}

serve::HandlerAnswer copyRows(ApiCall& call) {
    return operation<rows::ThreadNamed>(call, [](BaseCheckpointSaver& saver, const rows::ThreadNamed& wanted) {
        saver.copyThread(wanted.thread, wanted.to);
        return rows::Nothing{};
    });
}

serve::HandlerAnswer graphRow(ApiCall& call) {
    return operation<rows::Graph>(call, [](BaseCheckpointSaver& saver, const rows::Graph& wanted) {
        return saver.getGraph({wanted.graph, wanted.schema});
    });
}

serve::HandlerAnswer putGraphRow(ApiCall& call) {
    return operation<rows::Graph>(call, [](BaseCheckpointSaver& saver, const rows::Graph& given) {
        saver.putGraph({given.graph, given.schema}, given.bytes);
        return rows::Nothing{};
    });
}

serve::HandlerAnswer sizeOfRows(ApiCall& call) {
    return operation<rows::Nothing>(
        call, [](BaseCheckpointSaver& saver, const rows::Nothing&) { return saver.storedBytes(); });
}

}  // namespace stategraph::inspect
