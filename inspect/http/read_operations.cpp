#include <algorithm>
#include <cstdint>
#include <sstream>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/export.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/read_checkpoint.hpp>
#include <stategraph/stats.hpp>

#include "inspect/app/row_messages.hpp"
#include "inspect/http/api_call.hpp"
#include "inspect/http/http_views.hpp"
#include "inspect/open_questions.hpp"
#include "inspect/queue_views.hpp"
#include "inspect/thread_list.hpp"
#include "src/reading/shown_names.hpp"

// The operations that only read.
namespace stategraph::inspect {
namespace {

/// A larger value is read in pages, and not as one value.
constexpr std::size_t whole_bytes_max = 4'000'000;

/// The number of tasks that are checked for logs of graphs that they run.
constexpr std::size_t subgraph_tasks_max = 100;

void addSubgraphs(const ApiCall& call, CheckpointPageView& view) {
    constexpr std::string_view pull = "pull:";
    for (std::size_t i = 0; i < std::min(view.tasks.size(), subgraph_tasks_max); ++i) {
        TaskView& task = view.tasks[i];
        const std::string stored_name = task.path.starts_with(pull) ? task.path.substr(pull.size()) : task.name;
        std::string ns = view.checkpoint_ns.empty() ? "" : view.checkpoint_ns + "|";
        ns += stored_name + ":" + task.id;
        const Config log{.thread_id = ThreadId(call.thread), .checkpoint_id = {}, .checkpoint_ns = ns};
        if (!readTimeline(call.api.saver(), log, {.before = {}, .limit = 1}).empty()) task.subgraph_ns = std::move(ns);
    }
}

struct AboutView {
    std::string store;
    bool write = false;
    bool app = false;
    /// Whether the program has graphs whose tasks' messages can be followed while they run.
    bool live = false;
    std::vector<std::string> graphs;
    std::string version;
    /// The version of the messages about rows.
    std::uint64_t rows = 0;
    std::vector<std::string> redacted;
    static constexpr auto fields() {
        return stategraph::fields(field("store", &AboutView::store), field("write", &AboutView::write),
                                  field("app", &AboutView::app), field("live", &AboutView::live),
                                  field("graphs", &AboutView::graphs), field("version", &AboutView::version),
                                  field("rows", &AboutView::rows), field("redacted", &AboutView::redacted));
    }
};

struct ThreadsView {
    std::vector<ThreadView> threads;
    std::optional<std::string> next;
    std::map<std::string, std::uint64_t> counts;
    static constexpr auto fields() {
        return stategraph::fields(field("threads", &ThreadsView::threads), field("next", &ThreadsView::next),
                                  field("counts", &ThreadsView::counts));
    }
};

struct OpenQuestionView {
    std::string thread_id;
    std::string checkpoint_id;
    std::vector<std::string> next;
    std::string id;
    std::string key;
    Value value;
    std::string asked_at;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &OpenQuestionView::thread_id),
                                  field("checkpoint_id", &OpenQuestionView::checkpoint_id),
                                  field("next", &OpenQuestionView::next), field("id", &OpenQuestionView::id),
                                  field("key", &OpenQuestionView::key), field("value", &OpenQuestionView::value),
                                  field("asked_at", &OpenQuestionView::asked_at));
    }
};
struct QuestionsView {
    std::vector<OpenQuestionView> questions;
    std::optional<std::string> next;
    static constexpr auto fields() {
        return stategraph::fields(field("questions", &QuestionsView::questions), field("next", &QuestionsView::next));
    }
};

struct LogsView {
    std::vector<std::string> namespaces;
    static constexpr auto fields() { return stategraph::fields(field("namespaces", &LogsView::namespaces)); }
};
struct DifferencesView {
    std::vector<DifferenceView> channels;
    static constexpr auto fields() { return stategraph::fields(field("channels", &DifferencesView::channels)); }
};
struct AllCausesView {
    std::vector<TaskCausesView> tasks;
    static constexpr auto fields() { return stategraph::fields(field("tasks", &AllCausesView::tasks)); }
};
struct WritersView {
    std::vector<WriterLineView> entries;
    std::optional<std::string> more;
    static constexpr auto fields() {
        return stategraph::fields(field("entries", &WritersView::entries), field("more", &WritersView::more));
    }
};

}  // namespace

serve::HandlerAnswer about(ApiCall& call) {
    const ServerOptions& options = call.api.options();
    AboutView view{.store = options.store,
                   .write = options.write,
                   .app = false,
                   .live = false,
                   .graphs = {},
                   .version = rows::versionText(),
                   .rows = rows::version,
                   .redacted = call.api.redaction().patterns()};
    for (const auto& [name, graph] : call.api.graphs()) {
        view.graphs.push_back(name);
        view.live = view.live || graph->hub() != nullptr;
    }
    view.app = options.write && !view.graphs.empty();
    return json(view);
}

// A place in the list of threads, in the form that a page's address has: an id, a slash, a name.
std::string textOf(const ThreadPlace& place) { return place.since.toString() + "/" + place.thread_id; }
ThreadPlace placeOf(const std::string& text) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    return {CheckpointId(text.substr(0, slash)), text.substr(std::min(slash + 1, text.size()))};
}

serve::HandlerAnswer threads(ApiCall& call) {
    ThreadFilter filter{.limit = call.number("limit", 50, 1, 1000)};
    filter.shown = [&call](Value value, const std::string& name) {
        return call.api.redaction().apply(std::move(value), name);
    };
    if (const auto entry = call.text("metadata"); !entry.empty()) filter.metadata.push_back(metadataEntryOf(entry));
    if (const auto status = call.text("status"); !status.empty()) filter.status = status;
    if (const auto text = call.text("text"); !text.empty()) filter.text = text;
    if (!call.text("since_s").empty()) filter.since = std::chrono::seconds(call.number("since_s", 0, 0, 4'000'000'000));
    if (const auto after = call.text("after"); !after.empty()) filter.before = placeOf(after);
    ThreadList list = listThreadsOf(call.api.saver(), filter);
    markSetAside(call.api.sharedSaver(), list.threads);
    ThreadsView view{.threads = std::move(list.threads), .next = {}, .counts = std::move(list.counts)};
    if (list.next) view.next = textOf(*list.next);
    return json(view);
}

serve::HandlerAnswer questions(ApiCall& call) {
    std::optional<ThreadPlace> before;
    if (const auto after = call.text("after"); !after.empty()) before = placeOf(after);
    const QuestionPage page = openQuestionsOf(call.api.saver(), before, call.number("limit", 50, 1, 1000));
    QuestionsView view;
    if (page.next) view.next = textOf(*page.next);
    for (const UnfinishedThread& thread : page.threads) {
        for (const Interrupt& asked : thread.interrupts) {
            view.questions.push_back({thread.thread_id, thread.checkpoint_id.toString(), thread.next,
                                      asked.id.toString(), asked.key, call.api.redaction().apply(asked.value, ""),
                                      isoTime(thread.checkpoint_id.time())});
        }
    }
    return json(view);
}

serve::HandlerAnswer logs(ApiCall& call) {
    LogsView view{readNamespaces(call.api.saver(), ThreadId(call.thread))};
    if (view.namespaces.empty()) call.failMissing();
    return json(view);
}

serve::HandlerAnswer checkpoint(ApiCall& call) {
    auto values = call.api.keptValues(call.config());
    auto snapshot = readCheckpoint(call.api.saver(), call.config(), {.values = values == nullptr});
    if (!snapshot) call.failMissing();
    if (!values) values = call.api.keepValues(*snapshot);
    CheckpointPageView view = pageViewOf(*snapshot, call.api.redaction());
    addSubgraphs(call, view);
    view.values = viewOf(pageOf(*values, "", {.from = 0, .count = 1000, .bytes_max = 2000}));
    return json(view);
}

serve::HandlerAnswer valuePage(ApiCall& call) {
    const auto values = call.api.values(call.config());
    if (!values) call.failMissing();
    const ValuePageQuery query{.from = call.number("from", 0, 0, SIZE_MAX),
                               .count = call.number("count", 100, 1, 1000),
                               .bytes_max = call.number("bytes_max", 2000, 1, 100'000)};
    return json(viewOf(pageOf(*values, call.text("path"), query)));
}

serve::HandlerAnswer wholeValue(ApiCall& call) {
    const auto values = call.api.values(call.config());
    if (!values) call.failMissing();
    const Value value = valueAt(*values, call.text("path"));
    if (value.bytes().size() > whole_bytes_max)
        throw Refused{413, "this value has " + std::to_string(value.bytes().size()) + " bytes; read it by pages"};
    return {.body = value.toJson() + "\n"};
}

serve::HandlerAnswer changes(ApiCall& call) {
    const auto found = readChanges(call.api.saver(), call.config());
    if (!found) call.failMissing();
    ChangesView view{
        .is_whole = found->is_whole, .supersteps = found->supersteps, .bytes = found->bytes, .changes = {}};
    for (const ChannelChange& change : found->changes) {
        OperationView operation{.channel = change.channel, .change = toString(change.change), .value = {}, .cut = {}};
        if (change.change != Change::clear) {
            ShownValue shown = shownValue(call.api.redaction().apply(change.value, change.channel));
            operation.value = std::move(shown.value);
            operation.cut = std::move(shown.cut);
        }
        view.changes.push_back(std::move(operation));
    }
    return json(view);
}

serve::HandlerAnswer difference(ApiCall& call) {
    const Config after = call.existing();
    const std::string thread = call.text("to_thread").empty() ? call.thread : call.text("to_thread");
    ApiCall other{call.api, call.request, thread, call.text("to_checkpoint")};
    Config before = other.config();
    before.checkpoint_ns = call.request.query.contains("to_ns") ? call.text("to_ns") : std::string(after.checkpoint_ns);
    DifferencesView view;
    std::size_t bytes = 0;
    for (ChannelDifference& each : readDifference(call.api.saver(), after, before)) {
        DifferenceView channel{.channel = each.channel, .before = {}, .after = {}};
        if (each.before) channel.before = call.api.redaction().apply(std::move(*each.before), each.channel);
        if (each.after) channel.after = call.api.redaction().apply(std::move(*each.after), each.channel);
        bytes +=
            (channel.before ? channel.before->bytes().size() : 0) + (channel.after ? channel.after->bytes().size() : 0);
        view.channels.push_back(std::move(channel));
    }
    if (bytes > 2 * whole_bytes_max)
        throw Refused{413, "the values that differ have " + std::to_string(bytes) + " bytes; read them by pages"};
    return json(view);
}

serve::HandlerAnswer causes(ApiCall& call) {
    AllCausesView view;
    for (const TaskCauses& task : readCauses(call.api.saver(), call.config())) view.tasks.push_back(viewOf(task));
    if (view.tasks.empty()) call.existing();
    return json(view);
}

serve::HandlerAnswer writers(ApiCall& call) {
    const std::string channel = call.text("channel");
    if (channel.empty()) throw InvalidArgumentError("writers needs a channel: ?channel=NAME");
    const Config place = call.existing();
    const ChannelHistory history =
        readChannelHistory(call.api.saver(), place, channel, {.limit = call.number("limit", 100, 1, 1000)});
    const reading::ShownNames names(call.api.saver(), place);
    WritersView view;
    for (const ChannelHistoryEntry& entry : history.entries) {
        WriterView one = inspect::viewOf(entry, names.graph());
        ShownValue shown = shownValue(call.api.redaction().apply(std::move(one.value), channel));
        view.entries.push_back({one.checkpoint_id, one.step, one.source, one.change, std::move(shown.value),
                                std::move(shown.cut), std::move(one.writers)});
    }
    if (history.more) view.more = history.more->checkpoint_id.toString();
    return json(view);
}

serve::HandlerAnswer graph(ApiCall& call) {
    auto found = readGraph(call.api.saver(), call.existing());
    if (!found) throw NotFound{"no description of this thread's graph is stored"};
    return json(graphViewOf(call.api.saver(), *std::move(found), call.api.redaction()));
}

serve::HandlerAnswer threadStats(ApiCall& call) {
    const SaverStats stats = call.api.saver().stats({.thread_id = call.thread, .threads = false});
    if (stats.total.commits == 0 && stats.damaged.empty()) call.failMissing();
    return json(viewOf(stats));
}

serve::HandlerAnswer storeStats(ApiCall& call) {
    return json(viewOf(statsOfLargest(call.api.saver(), call.number("largest", 0, 0, 1000))));
}

serve::HandlerAnswer exportLines(ApiCall& call) {
    if (!call.api.redaction().isEmpty())
        throw Refused{403, "an export would show what is redacted here; use the command line"};
    const SaverStats stats = call.api.saver().stats({.thread_id = call.thread, .threads = false});
    if (stats.total.bytes() > page_thread_bytes_max)
        throw Refused{413, "this thread is too large for a page; 'stategraph export' writes it to a file"};
    std::ostringstream lines;
    exportThread(call.api.saver(), ThreadId(call.thread), lines);
    return {.content_type = "application/x-ndjson",
            .body = std::move(lines).str(),
            .headers = {{"Content-Disposition", "attachment; filename=\"thread.ndjson\""}}};
}

}  // namespace stategraph::inspect
