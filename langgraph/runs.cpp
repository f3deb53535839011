#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/json.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/assistants.hpp"
#include "langgraph/call.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/run_answers.hpp"
#include "langgraph/run_begin.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/thread_runs.hpp"

// Runs are begun: on threads, and without one.
namespace stategraph::langgraph {

serve::HandlerAnswer listRuns(const Call& call);
serve::HandlerAnswer getRun(const Call& call);
serve::HandlerAnswer deleteRun(const Call& call);
serve::HandlerAnswer joinRun(const Call& call);
serve::HandlerAnswer streamRun(const Call& call);
serve::HandlerAnswer streamAlone(const Call& call);
serve::HandlerAnswer cancelRun(const Call& call);
serve::HandlerAnswer cancelRuns(const Call& call);

namespace json = boost::json;

namespace {

/// Header fields that are settings of a run.
json::object settingsIn(const serve::HandlerRequest& request) {
    json::object settings;
    request.request.forEachHeader([&](std::string_view name, std::string_view value) {
        std::string lower(name);
        std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
        const bool is_secret = lower == "x-api-key" || lower == "x-tenant-id" || lower == "x-service-key";
        if ((lower.starts_with("x-") && !is_secret) || lower == "user-agent") settings[lower] = value;
    });
    return settings;
}

/// The thread that a run is to have, and whether it exists.
struct RunThread {
    ThreadRecord record;
    bool is_new = false;
};

RunThread threadFor(const Call& call, const Body& body, const std::optional<std::string>& thread_id) {
    ThreadRecord fresh;
    fresh.created_at = now();
    fresh.owner = call.owner();
    fresh.updated_at = fresh.created_at;
    if (!thread_id) {
        fresh.thread_id = newId();
        fresh.is_temporary = true;
        return {std::move(fresh), true};
    }
    if (!isUuid(*thread_id)) throw InvalidRequest("Invalid thread ID: must be a UUID");
    const bool creates = body.choice("if_not_exists", {"reject", "create"}) == "create";
    if (!creates || call.service().records.thread(*thread_id)) return {call.thread(*thread_id), false};
    if (call.isAnothers(*thread_id)) throw NotFound("Thread with ID " + *thread_id + " not found");
    fresh.thread_id = *thread_id;
    fresh.metadata = body.object("metadata");
    return {std::move(fresh), true};
}

/// A run that nothing is wrong with, before anything of it is stored.
struct PreparedRun {
    Body body;
    RunThread thread;
    json::object assistant_config;
    std::shared_ptr<LiveRun> run;
};

/// What a run leaves in the record of its thread: its graph, and its settings for later runs, with its assistant's.
void markThread(const PreparedRun& prepared, ThreadRecord& thread) {
    const RunRecord& run = prepared.run->asked();
    thread.metadata["graph_id"] = run.graph_id;
    thread.metadata["assistant_id"] = run.assistant_id;
    const json::object given = prepared.body.object("config");
    json::object configurable =
        merged(objectIn(prepared.assistant_config, "configurable"), objectIn(thread.config, "configurable"));
    configurable = merged(std::move(configurable), objectIn(given, "configurable"));
    thread.config = merged(merged(prepared.assistant_config, thread.config), given);
    thread.config["configurable"] = std::move(configurable);
    thread.updated_at = run.created_at;
}

PreparedRun prepare(const Call& call, const Body& body, const std::optional<std::string>& thread_id) {
    Service& service = call.service();
    const std::optional<std::string> assistant_id = body.text("assistant_id");
    if (!assistant_id) body.refuse("assistant_id", "is required");
    const AssistantRecord assistant = findAssistant(call, *assistant_id);
    const auto graph = service.graphs.find(assistant.graph_id);
    if (graph == service.graphs.end()) throw NotFound("This server has no graph '" + assistant.graph_id + "'");
    RunThread thread = threadFor(call, body, thread_id);
    RunRecord record = readRun(body, {.assistant = assistant,
                                      .graph = *graph->second,
                                      .thread = thread.record,
                                      .headers = settingsIn(call.request()),
                                      .now = service.clock->now(),
                                      .webhooks = service.options.webhooks.get()});
    if (isFollowed(service, record.owner, record.thread_id)) record.kwargs[thread_events_key] = true;
    if (record.is_temporary && record.keeps_thread) thread.record.is_temporary = false;
    detail::Work work = graph->second->graph->prepare(startOf(*graph->second, record));
    (void)configOf(*graph->second, record);
    auto run =
        std::make_shared<LiveRun>(std::move(record), graph->second, call.request().identity, std::move(work), service);
    return {body, std::move(thread), assistant.config, std::move(run)};
}

/// Refuses a run that would have to wait until the server has a place for it.
void checkPlace(const Service& service, const PreparedRun& prepared) {
    if (service.server.areAllPlacesTaken() && !service.runs->isBusy(prepared.run->asked().thread_id))
        throw ApiError(503, "The server has as many runs under way as it may; try again later");
}

void enter(const Call& call, PreparedRun& prepared, const ApiRecords::Batch& more = {}) {
    const ApiRecords& records = call.service().records;
    const RunRecord& record = prepared.run->asked();
    const auto batch = [&] { return ApiRecords::Batch(more).put(record); };
    call.service().runs->add(prepared.run, [&] {
        if (prepared.thread.is_new) {
            markThread(prepared, prepared.thread.record);
            if (records.addThread(prepared.thread.record, batch())) return;
            (void)call.thread(record.thread_id);  // another request has made it meanwhile, perhaps another user's
        }
        const auto marked = records.editThread(
            record.thread_id, [&](ThreadRecord& stored) { markThread(prepared, stored); }, batch());
        if (!marked) throw NotFound("Thread with ID " + record.thread_id + " not found");
    });
}

std::shared_ptr<LiveRun> begin(const Call& call, const Body& body, const std::optional<std::string>& thread_id) {
    call.countStored(1);
    return beginRun(call, body, thread_id);
}

bool cancelsOnDisconnect(const Body& body) { return body.choice("on_disconnect", {"continue", "cancel"}) == "cancel"; }

/// Takes the client's place for the answer's events, before a run begins that nobody would read.
void takeStream(const Call& call) {
    if (call.request().take_stream && !call.request().take_stream()) throw TooManyRequests(std::chrono::seconds(1));
}

serve::HandlerAnswer created(const Call& call, const std::optional<std::string>& thread_id) {
    const std::shared_ptr<LiveRun> run = begin(call, call.body(), thread_id);
    serve::HandlerAnswer answer = answerOf(runJson(run->asked()));
    addLocation(*run, false, answer);
    return answer;
}

serve::HandlerAnswer streamed(const Call& call, const std::optional<std::string>& thread_id) {
    const Body body = call.body();
    const bool cancels = cancelsOnDisconnect(body);
    takeStream(call);
    const std::shared_ptr<LiveRun> run = begin(call, body, thread_id);
    serve::HandlerAnswer answer = streamOf(call.service(), {.run = run, .cancels = cancels});
    addLocation(*run, true, answer);
    return answer;
}

serve::HandlerAnswer awaited(const Call& call, const std::optional<std::string>& thread_id) {
    const Body body = call.body();
    const bool cancels = cancelsOnDisconnect(body);
    takeStream(call);
    const std::shared_ptr<LiveRun> run = begin(call, body, thread_id);
    serve::HandlerAnswer answer = resultOf(call.service(), run, cancels);
    addLocation(*run, false, answer);
    return answer;
}

serve::HandlerAnswer createRun(const Call& call) { return created(call, call.id(0)); }
serve::HandlerAnswer streamNewRun(const Call& call) { return streamed(call, call.id(0)); }
serve::HandlerAnswer waitForRun(const Call& call) { return awaited(call, call.id(0)); }
serve::HandlerAnswer createAloneRun(const Call& call) { return created(call, std::nullopt); }
serve::HandlerAnswer streamAloneRun(const Call& call) { return streamed(call, std::nullopt); }
serve::HandlerAnswer waitForAloneRun(const Call& call) { return awaited(call, std::nullopt); }

constexpr std::size_t batch_max = 100;

serve::HandlerAnswer createBatch(const Call& call) {
    // A list is no object, so it becomes the only member of one.
    const Body body = Body::parse("{\"runs\":" + std::string(call.request().body) + "}");
    const json::value* const payloads = body.find("runs");
    if (payloads == nullptr || !payloads->is_array() || payloads->get_array().empty())
        throw InvalidRequest("The request body must be a list of runs");
    if (payloads->get_array().size() > batch_max)
        throw InvalidRequest("The request has more than " + std::to_string(batch_max) + " runs");
    call.countStored(payloads->get_array().size());
    std::vector<PreparedRun> prepared;
    for (const json::value& each : payloads->get_array()) {
        if (!each.is_object()) throw InvalidRequest("Each run is an object");
        prepared.push_back(prepare(call, Body(each.get_object(), {}), std::nullopt));
        checkPlace(call.service(), prepared.back());
    }
    json::array runs;
    for (PreparedRun& each : prepared) {
        enter(call, each);
        runs.push_back(runJson(each.run->asked()));
    }
    return answerOf(std::move(runs));
}

}  // namespace

void checkRun(const Call& call, const Body& body, const std::optional<std::string>& thread_id) {
    (void)prepare(call, body, thread_id);
}

std::shared_ptr<LiveRun> beginRun(const Call& call, const Body& body, const std::optional<std::string>& thread_id,
                                  const ApiRecords::Batch& more) {
    PreparedRun prepared = prepare(call, body, thread_id);
    checkPlace(call.service(), prepared);
    enter(call, prepared, more);
    return std::move(prepared.run);
}

std::span<const Row> runRows() {
    static constexpr Row rows[] = {
        {"POST", "/runs", &createAloneRun},
        {"POST", "/runs/stream", &streamAloneRun},
        {"POST", "/runs/wait", &waitForAloneRun},
        {"POST", "/runs/batch", &createBatch},
        {"POST", "/runs/cancel", &cancelRuns},
        {"GET", "/runs/:id/stream", &streamAlone},
        {"GET", "/threads/:id/runs", &listRuns},
        {"POST", "/threads/:id/runs", &createRun},
        {"POST", "/threads/:id/runs/stream", &streamNewRun},
        {"POST", "/threads/:id/runs/wait", &waitForRun},
        {"GET", "/threads/:id/runs/:id", &getRun},
        {"DELETE", "/threads/:id/runs/:id", &deleteRun},
        {"GET", "/threads/:id/runs/:id/join", &joinRun},
        {"GET", "/threads/:id/runs/:id/stream", &streamRun},
        {"POST", "/threads/:id/runs/:id/cancel", &cancelRun},
    };
    return rows;
}

}  // namespace stategraph::langgraph
