#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/snapshot.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/call.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/run_answers.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/run_settle.hpp"
#include "langgraph/thread_view.hpp"

// Runs that exist are listed, read, joined, cancelled and deleted.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// A run of a thread: of this process, or as it is stored.
struct FoundRun {
    RunRecord record;
    std::shared_ptr<LiveRun> live;  // null: it is only stored, and driven by another server if it has not ended
};

FoundRun find(const Call& call, const std::string& thread_id, const std::string& run_id) {
    if (!isUuid(run_id)) throw InvalidRequest("Invalid run ID: must be a UUID");
    auto stored = call.service().records.run(thread_id, run_id);
    if (!stored) throw NotFound("Run with ID " + run_id + " not found");
    std::shared_ptr<LiveRun> live = call.service().runs->find(run_id);
    if (!live && !stored->hasEnded() && call.service().runs->isBusy(thread_id)) {
        live = call.service().runs->find(run_id);
        if (auto since = call.service().records.run(thread_id, run_id)) stored = std::move(since);
    }
    return {live ? live->record() : *std::move(stored), std::move(live)};
}

FoundRun find(const Call& call) { return find(call, call.thread().thread_id, call.id(1)); }

/// The number after the last event that a client has; it has none: 0.
std::uint64_t numberAfter(std::string_view last) {
    std::int64_t number = -1;
    std::from_chars(last.data(), last.data() + last.size(), number);
    return number < 0 ? 0 : static_cast<std::uint64_t>(number) + 1;
}

serve::HandlerAnswer streamFrom(const Call& call, const std::shared_ptr<LiveRun>& live) {
    std::vector<std::string> modes = call.parameters("stream_mode");
    // The events of the mode are called "messages", and those that begin a stream and end it are always sent.
    std::ranges::replace(modes, std::string("messages-tuple"), std::string("messages"));
    if (!modes.empty()) modes.insert(modes.end(), {"metadata", "error"});
    std::string last(call.request().request.header("Last-Event-ID"));
    if (last.empty()) last = call.parameter("last_event_id");
    return streamOf(call.service(), {.run = live,
                                     .from = live->feed().placeOf(numberAfter(last)),
                                     .modes = std::move(modes),
                                     .cancels = call.flag("cancel_on_disconnect")});
}

serve::HandlerAnswer emptyStream() {
    serve::HandlerAnswer answer{.content_type = "text/event-stream"};
    return answer;
}

/// Whether a cancelled run is rolled back too.
bool rollsBack(const Call& call) {
    const std::string action = call.parameter("action");
    if (!action.empty()) checkWord("action", action, {"interrupt", "rollback"});
    return action == "rollback";
}

}  // namespace

serve::HandlerAnswer listRuns(const Call& call) {
    const ThreadRecord thread = call.thread();
    const auto number = [&](const char* name, std::size_t least, std::size_t most, std::size_t otherwise) {
        const std::string text = call.parameter(name);
        return text.empty() ? otherwise : numberOf(name, text, least, most);
    };
    const std::size_t limit = number("limit", 1, 1000, 10);
    std::size_t offset = number("offset", 0, SIZE_MAX / 2, 0);
    const std::string status = call.parameter("status");
    if (!status.empty())
        checkWord("status", status, {"pending", "running", "error", "success", "timeout", "interrupted"});
    json::array page;
    call.service().records.forEachRun(thread.thread_id, [&](RunRecord&& each) {
        if (const auto live = call.service().runs->find(each.run_id)) each = live->record();
        if (!status.empty() && each.status != status) return true;
        if (offset > 0) {
            --offset;
            return true;
        }
        page.push_back(selected(runJson(each), call.parameters("select")));
        return page.size() < limit;
    });
    return answerOf(std::move(page));
}

serve::HandlerAnswer getRun(const Call& call) { return answerOf(runJson(find(call).record)); }

serve::HandlerAnswer deleteRun(const Call& call) {
    const FoundRun run = find(call);
    if (run.live ? !run.live->hasEnded() : !run.record.hasEnded())
        throw ApiError(409, "The run has not ended; cancel it before you delete it");
    // The log is that of the open run too.
    if (call.service().runs->isBusy(run.record.thread_id)) throw ApiError(409, "Thread is busy");
    if (const ServedGraph* const graph = call.service().graph(run.record.graph_id))
        takeBack(call.service(), *graph, run.record, OnBusy::reject);
    call.service().records.store(ApiRecords::Batch().remove(run.record));
    if (run.live) call.service().runs->forgetRun(*run.live);
    return noContent();
}

serve::HandlerAnswer joinRun(const Call& call) {
    const FoundRun run = find(call);
    if (run.live) return resultOf(call.service(), run.live, call.flag("cancel_on_disconnect"));
    if (!run.record.hasEnded()) return followedOf(call.service(), run.record, false);
    return answerOf(threadValues(call.service(), call.thread()));
}

serve::HandlerAnswer streamRun(const Call& call) {
    const FoundRun run = find(call);
    if (run.live) return streamFrom(call, run.live);
    return run.record.hasEnded() ? emptyStream() : followedOf(call.service(), run.record, true);
}

serve::HandlerAnswer streamAlone(const Call& call) {
    const std::shared_ptr<LiveRun> live = call.service().runs->find(call.id(0));
    const std::string owner = call.owner();
    if (!live || (!owner.empty() && live->asked().owner != owner))
        throw NotFound("Run with ID " + call.id(0) + " not found");
    return streamFrom(call, live);
}

serve::HandlerAnswer cancelRun(const Call& call) {
    const bool rolls_back = rollsBack(call);
    const FoundRun run = find(call);
    if (!run.live && !run.record.hasEnded())
        throw ApiError(409, "Another server of this store drives the run; cancel it there");
    if (run.live) call.service().runs->cancel(*run.live, rolls_back);
    if (!call.flag("wait")) return answerOf(json::object(), 202);
    serve::HandlerAnswer answer = noContent();
    if (run.live) answer.is_due = [live = run.live] { return live->feed().hasEnded(); };
    return answer;
}

serve::HandlerAnswer cancelRuns(const Call& call) {
    const bool rolls_back = rollsBack(call);
    const Body body = call.body();
    const std::optional<std::string> thread_id = body.uuid("thread_id");
    if (!thread_id) body.refuse("thread_id", "is required");
    const ThreadRecord thread = call.thread(*thread_id);
    const std::vector<std::string> ids = body.texts("run_ids");
    const std::string status = body.choice("status", {"all", "pending", "running"});
    for (const auto& each : call.service().runs->ofThread(thread.thread_id)) {
        const bool is_named = ids.empty() || std::ranges::find(ids, each->asked().run_id) != ids.end();
        if (is_named && (status == "all" || each->status() == status)) call.service().runs->cancel(*each, rolls_back);
    }
    return noContent();
}

}  // namespace stategraph::langgraph
