#include "inspect/app/app_saver.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>

#include "inspect/app/row_messages.hpp"

namespace stategraph::inspect {
namespace {

// What /api/about answers, as far as it is needed here.
struct About {
    std::string version;
    bool write = false;
    std::uint64_t rows = 0;
    std::vector<std::string> graphs;
    static constexpr auto fields() {
        return stategraph::fields(field("version", &About::version), field("write", &About::write),
                                  field("rows", &About::rows), field("graphs", &About::graphs));
    }
};

// A list that a caller reads in one piece.
constexpr std::size_t list_bytes_max = std::size_t{1} << 30U;

bool isDone(const AppAnswer& answer) { return answer.status >= 200 && answer.status < 300; }

std::string cannot(const AppAddress& address) { return "cannot use the program at " + address.shown() + ": "; }

About askAbout(AppClient& client) {
    const AppAnswer answer = client.get("/api/about");
    if (!isDone(answer)) throwRefusal(client.address(), answer);
    try {
        return parseJson(answer.body).as<About>();
    } catch (const Error&) {
        throw SaverError(cannot(client.address()) + "what listens there is no inspector of stategraph");
    }
}

std::vector<rows::Write> messagesOf(std::span<const WriteRow> given) {
    std::vector<rows::Write> made;
    for (const WriteRow& row : given) {
        rows::Write write{row.checkpoint_id, std::string(row.path), std::string(row.bytes), {}};
        if (row.expected) write.expected = std::string(*row.expected);
        made.push_back(std::move(write));
    }
    return made;
}

std::optional<std::vector<IndexedThread>> threadsOf(const AppAddress& address,
                                                    std::optional<std::vector<rows::Indexed>> found) {
    if (!found) return {};
    std::vector<IndexedThread> threads;
    try {
        for (rows::Indexed& row : *found)
            threads.push_back(
                {{row.place.since.id(), std::move(row.place.thread)}, row.outlook.outlook(), std::move(row.summary)});
    } catch (const WrongTypeError& error) {
        throw SaverError(cannot(address) + "its answer is not understood: " + error.message());
    }
    return threads;
}

}  // namespace

void throwRefusal(const AppAddress& address, const AppAnswer& answer) {
    rows::Failed failed;
    try {
        failed = parseJson(answer.body).as<rows::Failed>();
    } catch (const Error&) {  // it is not the text of an inspector
    }
    const ErrorContext at{
        .thread_id = failed.thread_id, .checkpoint_ns = failed.checkpoint_ns, .checkpoint_id = failed.checkpoint_id};
    if (failed.code == toString(Errc::thread_busy)) throw ThreadBusyError(failed.error, at);
    if (failed.code == toString(Errc::lease_lost)) throw LeaseLostError(failed.error, at);
    if (failed.code == toString(Errc::concurrent_update)) throw ConcurrentUpdateError(failed.error, at);
    if (failed.code == toString(Errc::invalid_argument)) throw InvalidArgumentError(failed.error, at);
    if (failed.code == toString(Errc::corrupt_checkpoint)) throw CorruptCheckpointError(failed.error, at);
    if (failed.code == toString(Errc::saver_failed)) throw SaverError(failed.error, at);
    if (answer.status == 401)
        throw SaverError(cannot(address) +
                         "the key after '#' is not its key; the program prints its address with the "
                         "key, which is another one after each start");
    throw SaverError(cannot(address) + (failed.error.empty()
                                            ? "it answers with the status " + std::to_string(answer.status)
                                            : failed.error));
}

AppSaver::AppSaver(AppAddress address, bool for_writing, AppLimits limits)
    : client_(std::move(address), limits), for_writing_(for_writing) {
    About about = askAbout(client_);
    const AppAddress& at = client_.address();
    if (about.rows != rows::version)
        throw SaverError(cannot(at) + "it has version " + (about.version.empty() ? "?" : about.version) +
                         " of stategraph, this command has " + rows::versionText() +
                         ", and they do not understand each other; open its page instead");
    if (for_writing && !about.write)
        throw SaverError(cannot(at) + "it is read-only: it must allow writing (ServerOptions::write)");
    graphs_ = std::move(about.graphs);
}

rows::Checked AppSaver::check(const rows::Check& wanted) { return send<rows::Checked>("/api/check", wanted, false); }

template <class T, class Message>
T AppSaver::ask(const char* operation, const Message& message, bool stores) {
    return send<T>(std::string("/api/rows/") + operation, message, stores);
}

template <class T, class Message>
T AppSaver::send(const std::string& path, const Message& message, bool stores) {
    const std::string body = rows::encoded(message);
    if (body.size() > rows::request_bytes_max)
        throw SaverError(cannot(client_.address()) + "the request has " + std::to_string(body.size() >> 20U) +
                         " MiB, and it accepts " + std::to_string(rows::request_bytes_max >> 20U));
    const AppAnswer answer = client_.post(path, rows::content_type, body, stores);
    if (!isDone(answer)) throwRefusal(client_.address(), answer);
    try {
        if (!answer.is_message) throw WrongTypeError("it is a text");
        return rows::decoded<T>(answer.body);
    } catch (const WrongTypeError& error) {
        throw SaverError(cannot(client_.address()) + "its answer is not understood: " + error.message());
    }
}

// A reader that corrects an index would otherwise write to the program's store.
void AppSaver::requireWriting() const {
    if (!for_writing_) throw SaverError(cannot(client_.address()) + "it was opened read-only");
}

void AppSaver::put(const PutRequest& request) {
    requireWriting();
    checkpoint::checkPut(request);
    rows::Put message{.thread = std::string(request.log.thread_id),
                      .ns = std::string(request.log.checkpoint_ns),
                      .head = request.expected_head,
                      .commits = {},
                      .writes = messagesOf(request.writes),
                      .compared = messagesOf(request.compared),
                      .sync = request.sync,
                      .outlook = request.outlook,
                      .summary = std::string(request.summary),
                      .root = request.root,
                      .answers = request.answers};
    for (const CommitRow& row : request.commits)
        message.commits.push_back({row.id, row.parent, row.base, std::string(row.bytes)});
    ask<rows::Nothing>("put", message, true);
}

std::optional<CheckpointTuple> AppSaver::getTuple(const TupleQuery& query) {
    const rows::TupleWanted wanted{std::string(query.log.thread_id), std::string(query.log.checkpoint_ns),
                                   query.checkpoint_id, query.before};
    auto found = ask<std::optional<rows::Tuple>>("tuple", wanted);
    if (!found) return {};
    CheckpointTuple tuple{.id = found->id.id(), .head = found->head.id(), .commits = {}, .writes = {}, .next = {}};
    for (rows::StoredRow& row : found->commits) tuple.commits.push_back({row.id.id(), std::move(row.bytes)});
    tuple.writes = rows::fromRows(std::move(found->writes));
    if (found->next) tuple.next = StoredCommit{found->next->id.id(), std::move(found->next->bytes)};
    return tuple;
}

std::vector<ListedCheckpoint> AppSaver::list(const ListQuery& query) {
    std::vector<ListedCheckpoint> all;
    ListQuery rest = query;
    std::size_t bytes = 0;
    for (;;) {
        auto page = ask<rows::ListPage>("list", rows::toMessage(rest));
        for (rows::Listed& row : page.rows) {
            bytes += row.bytes.size() + sizeof(ListedCheckpoint);
            all.push_back({std::move(row.thread), std::move(row.ns), row.id.id(), std::move(row.bytes),
                           rows::fromRows(std::move(row.writes)), std::move(row.damaged)});
        }
        if (!page.more || (query.limit && all.size() >= *query.limit)) return all;
        if (bytes > list_bytes_max)
            throw SaverError(cannot(client_.address()) + "a list has more than " +
                             std::to_string(list_bytes_max >> 20U) + " MiB; request less, as with --limit");
        // A program that answers wrongly must not keep this command busy without an end.
        if (page.rows.empty() || !rows::hasPages(rest))
            throw SaverError(cannot(client_.address()) + "it announces rows of a list that it does not send");
        const ListedCheckpoint& last = all.back();
        const bool is_after = rest.heads || !rest.before || last.id < rest.before;
        if (!is_after || (rest.after_thread_id && rest.heads && last.thread_id == *rest.after_thread_id))
            throw SaverError(cannot(client_.address()) + "it sends the same rows of a list again");
        rows::continueAfter(rest, last.thread_id, last.id, page.rows.size());
        if (!rest.thread_ids.empty() || query.thread_ids.empty()) continue;
        return all;  // the last of the named threads was sent
    }
}

void AppSaver::deleteThread(std::string_view thread_id) {
    requireWriting();
    ask<rows::Nothing>("delete", rows::ThreadNamed{std::string(thread_id), {}}, true);
}

void AppSaver::copyThread(std::string_view from, std::string_view to) {
    requireWriting();
    ask<rows::Nothing>("copy", rows::ThreadNamed{std::string(from), std::string(to)}, true);
}

std::size_t AppSaver::prune(const PruneRequest& request) {
    requireWriting();
    rows::Prune wanted{.thread = request.thread_id,
                       .keep_last = {},
                       .older_than = request.older_than,
                       .unused_since = request.threads_unused_since,
                       .rewrite = static_cast<std::uint8_t>(request.rewrite),
                       .commits = {}};
    for (const auto& [ns, ids] : request.commits) wanted.commits.push_back({ns, {ids.begin(), ids.end()}});
    if (request.keep_last) wanted.keep_last = *request.keep_last;
    auto pruned = ask<rows::Pruned>("prune", wanted, true);
    if (request.damaged != nullptr) {
        for (rows::DamagedRow& row : pruned.damaged)
            request.damaged->push_back({std::move(row.thread), std::move(row.why)});
    }
    return pruned.dropped;
}

std::optional<std::vector<IndexedThread>> AppSaver::openThreads(const OpenThreadsQuery& query) {
    const rows::OpenWanted wanted{rows::numbersOf(query.statuses), query.after_thread_id, query.limit,
                                  query.with_summaries};
    return threadsOf(client_.address(), ask<std::optional<std::vector<rows::Indexed>>>("open", wanted));
}

std::optional<std::vector<IndexedThread>> AppSaver::newestThreads(const NewestThreadsQuery& query) {
    rows::NewestWanted wanted{rows::numbersOf(query.statuses), {}, query.limit, query.with_summaries};
    if (query.before) wanted.before = rows::Place{query.before->since, query.before->thread_id};
    return threadsOf(client_.address(), ask<std::optional<std::vector<rows::Indexed>>>("newest", wanted));
}

std::optional<std::vector<DueThread>> AppSaver::dueThreads(const DueThreadsQuery& query) {
    rows::DueWanted wanted{query.until, {}, query.limit};
    if (query.after) wanted.after = rows::Due{query.after->due, query.after->thread_id};
    auto found = ask<std::optional<std::vector<rows::Due>>>("due", wanted);
    if (!found) return {};
    std::vector<DueThread> threads;
    for (rows::Due& row : *found) threads.push_back({row.due, std::move(row.thread)});
    return threads;
}

std::optional<ThreadCounts> AppSaver::countThreads(std::size_t most) {
    const auto found = ask<std::optional<std::vector<std::uint64_t>>>("count", rows::CountWanted{most});
    if (!found) return {};
    ThreadCounts counts;
    std::copy_n(found->begin(), std::min(found->size(), counts.by_status.size()), counts.by_status.begin());
    return counts;
}

void AppSaver::putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) {
    requireWriting();
    ask<rows::Nothing>("put_graph", rows::Graph{fingerprint.graph, fingerprint.schema, std::string(bytes)}, true);
}

std::optional<std::string> AppSaver::getGraph(const GraphFingerprint& fingerprint) {
    return ask<std::optional<std::string>>("graph", rows::Graph{fingerprint.graph, fingerprint.schema, {}});
}

std::optional<std::uint64_t> AppSaver::storedBytes() {
    return ask<std::optional<std::uint64_t>>("size", rows::Nothing{});
}

}  // namespace stategraph::inspect
