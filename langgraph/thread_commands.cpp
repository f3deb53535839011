#include "langgraph/thread_commands.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/detail/thread_read.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/json.hpp>
#include <stategraph/snapshot.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/event_json.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/run_begin.hpp"
#include "langgraph/state_json.hpp"
#include "langgraph/thread_runs.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

ThreadRecord threadOf(const Call& call) {
    std::optional<ThreadRecord> thread = threadIfAny(call);
    if (!thread) throw CommandError("no_such_run", "No active run is bound to this thread.");
    return *std::move(thread);
}

/// The parameters of a command as the request for a run. The checkpoint from which it begins is among the settings.
json::object runOf(const Body& params) {
    json::object run = params.members();
    for (const char* const none : {"stream_mode", "stream_subgraphs", "command"}) run.erase(none);
    run["if_not_exists"] = "create";
    if (!run.contains("multitask_strategy")) {
        const json::value* const strategy = params.find("multitaskStrategy");
        run["multitask_strategy"] = strategy != nullptr ? *strategy : json::value("enqueue");
    }
    const std::optional<Body> config = params.body("config");
    const std::optional<Body> settings = config ? config->body("configurable") : std::nullopt;
    if (!settings || !settings->has("checkpoint_id")) return run;
    if (!run.contains("checkpoint_id")) run["checkpoint_id"] = *settings->find("checkpoint_id");
    run["config"].get_object()["configurable"].get_object().erase("checkpoint_id");
    return run;
}

std::shared_ptr<LiveRun> begin(const Call& call, json::object run, CommandResult& done) {
    const std::shared_ptr<ThreadFeed> feed = threadFeed(call.service(), call.owner(), call.id(0));
    const std::uint64_t before = feed->newest();
    call.countStored(1);
    std::shared_ptr<LiveRun> begun;
    try {
        begun = beginRun(call, Body(std::move(run), {}), call.id(0));
    } catch (const NotFound& why) {  // the thread is the client's, so it is the assistant
        throw CommandError("invalid_argument", why.what());
    }
    // The first event of a run that begins now says that it does.
    done.applied = std::min(feed->newest(), before + 1);
    return begun;
}

bool waitsForAnswer(const ServedGraph& graph, const ThreadRecord& thread) {
    return stategraph::detail::threadStatus(*graph.graph->core(), ThreadId(thread.thread_id)) == Status::interrupted;
}

CommandResult startRun(const Call& call, const Body& params) {
    if (!params.has("assistant_id")) throw CommandError("invalid_argument", "run.start requires an assistant_id.");
    json::object run = runOf(params);
    const std::optional<ThreadRecord> thread = threadIfAny(call);
    const ServedGraph* const graph = thread ? call.graphOf(*thread) : nullptr;
    // What is sent to a thread that has asked a question is the answer.
    const json::value* const input = params.find("input");
    if (graph != nullptr && input != nullptr && !run.contains("checkpoint_id") && waitsForAnswer(*graph, *thread)) {
        run["command"] = json::object{{"resume", *input}};
        run.erase("input");
    }
    CommandResult done;
    done.result["run_id"] = begin(call, std::move(run), done)->asked().run_id;
    return done;
}

/// The answers of a command, by question.
json::object answersIn(const Body& params) {
    json::object answers;
    const auto take = [&](const Body& one) {
        const std::optional<std::string> id = one.text("interrupt_id");
        if (!id) throw CommandError("invalid_argument", "input.respond requires an interrupt_id.");
        const json::value* const response = one.members().if_contains("response");
        answers[*id] = response != nullptr ? *response : nullptr;
    };
    const json::value* const several = params.find("responses");
    if (several == nullptr) {
        take(params);
        return answers;
    }
    if (!several->is_array() || several->get_array().empty()) params.refuse("responses", "must be a list of answers");
    for (const json::value& each : several->get_array()) {
        if (!each.is_object()) params.refuse("responses", "each answer is an object");
        take(Body(each.get_object(), "responses"));
    }
    return answers;
}

CommandResult respond(const Call& call, const Body& params) {
    json::object answers = answersIn(params);
    const ThreadRecord thread = threadOf(call);
    const ServedGraph* const graph = call.graphOf(thread);
    if (graph == nullptr || !waitsForAnswer(*graph, thread))
        throw CommandError("invalid_argument", "input.respond can only be used while the run is interrupted.");
    const SnapshotData head = graph->graph->state({.thread_id = ThreadId(thread.thread_id)}, true);
    const std::vector<Interrupt> open = head.interrupts();
    for (const auto& each : answers) {
        const std::string_view id = each.key();
        if (std::ranges::none_of(open, [&](const Interrupt& one) { return one.id.toString() == id; }))
            throw CommandError("no_such_interrupt", "No question of this thread has the id " + std::string(id) + ".");
    }
    json::object run = runOf(params);
    for (const char* const member : {"responses", "namespace", "interrupt_id", "response", "input"}) run.erase(member);
    json::object command{{"resume", std::move(answers)}};
    for (const char* const member : {"update", "goto"}) {
        if (json::value* const given = run.if_contains(member)) command[member] = std::move(*given);
        run.erase(member);
    }
    run["command"] = std::move(command);
    run["assistant_id"] = memberIn(thread.metadata, "assistant_id");
    // Of two clients that answer, one is late.
    run["multitask_strategy"] = "reject";
    CommandResult done;
    (void)begin(call, std::move(run), done);
    return done;
}

/// The log that a command names by its namespace.
Config placeOf(const Call& call, const std::string& ns) {
    return {.thread_id = ThreadId(call.id(0)), .checkpoint_ns = ns};
}

CommandResult getState(const Call& call, const Body& params) {
    const ThreadRecord thread = call.thread();
    const ServedGraph* const graph = call.graphOf(thread);
    if (graph == nullptr) return {{{"values", json::object()}}};
    const std::string ns = joined(params.texts("namespace"));
    const SnapshotData at = graph->graph->state(placeOf(call, ns), false);
    json::value values = valuesJson(at.values_as_cbor, graph->channels, ns);
    if (values.is_object()) values = selected(std::move(values.get_object()), params.texts("keys"));
    json::object result{{"values", std::move(values)}};
    if (!at.config.checkpoint_id.empty())
        result["checkpoint"] = json::object{{"id", at.config.checkpoint_id.toString()}, {"ns", ns}};
    return {std::move(result)};
}

CommandResult listCheckpoints(const Call& call, const Body& params) {
    const ThreadRecord thread = call.thread();
    HistoryOptions options{.limit = params.number("limit", 1, 1000).value_or(10), .values = false};
    if (const auto before = params.uuid("before")) options.before = CheckpointId(*before);
    json::array checkpoints;
    if (const ServedGraph* const graph = call.graphOf(thread)) {
        const Config place = placeOf(call, joined(params.texts("namespace")));
        graph->graph->history(place, options, [&](const SnapshotData& at) {
            json::object shown{{"id", at.config.checkpoint_id.toString()}, {"step", at.step}};
            if (at.created_at) shown["timestamp"] = isoTime(*at.created_at, 3);
            checkpoints.push_back(std::move(shown));
            return true;
        });
    }
    return {{{"checkpoints", std::move(checkpoints)}}};
}

CommandResult fork(const Call& call, const Body& params) {
    const ThreadRecord thread = threadOf(call);
    if (!params.has("checkpoint_id")) throw CommandError("invalid_argument", "state.fork requires a checkpoint_id.");
    json::object run = runOf(params);
    run["assistant_id"] = memberIn(thread.metadata, "assistant_id");
    CommandResult done;
    done.result["run_id"] = begin(call, std::move(run), done)->asked().run_id;
    done.result["thread_id"] = thread.thread_id;
    return done;
}

CommandResult getTree(const Call& call, const Body&) {
    const ThreadRecord thread = threadOf(call);
    const std::shared_ptr<ThreadFeed> feed = call.service().thread_feeds->find(thread.owner, thread.thread_id);
    json::value tree = feed ? feed->tree() : json::value();
    if (tree.is_null()) throw CommandError("no_such_run", "No active run is bound to this thread.");
    return {{{"tree", std::move(tree)}}};
}

struct Known {
    std::string_view method;
    CommandResult (*answer)(const Call& call, const Body& params);
};
constexpr std::array known{Known{"run.start", &startRun}, Known{"input.respond", &respond},
                           Known{"state.get", &getState}, Known{"state.listCheckpoints", &listCheckpoints},
                           Known{"state.fork", &fork},    Known{"agent.getTree", &getTree}};
// Those of the protocol that have no answer here, subscriptions only beside a WebSocket.
constexpr std::array<std::string_view, 4> unsupported{"subscription.subscribe", "subscription.unsubscribe",
                                                      "subscription.reconnect", "input.inject"};

void addMeta(json::object& reply, const Call& call, std::uint64_t applied) {
    reply["meta"] = json::object{{"thread_id", call.id(0)}, {"applied_through_seq", applied}};
}

}  // namespace

ThreadCommand::ThreadCommand(const Body& body)
    : method(body.text("method", "")), params(body.body("params").value_or(Body({}, "params"))) {
    const json::value* const number = body.find("id");
    if (number == nullptr || !number->is_int64() || number->get_int64() < 0)
        body.refuse("id", "is required, and is a number");
    id = number->get_int64();
    if (method.empty()) body.refuse("method", "is required");
}

CommandResult doCommand(const Call& call, const ThreadCommand& command) {
    const auto found = std::ranges::find(known, command.method, &Known::method);
    if (found != known.end()) return found->answer(call, command.params);
    if (std::ranges::find(unsupported, command.method) != unsupported.end())
        throw CommandError("not_supported", command.method + " is not supported by this server.");
    (void)threadOf(call);
    throw CommandError("unknown_command", "Unknown protocol command: " + command.method);
}

json::object successJson(const ThreadCommand& command, CommandResult done, const Call& call, const ThreadFeed* feed) {
    json::object reply{{"type", "success"}, {"id", command.id}, {"result", std::move(done.result)}};
    addMeta(reply, call, done.applied ? *done.applied : feed != nullptr ? feed->newest() : 0);
    return reply;
}

json::object errorJson(json::value id, const std::string& code, const std::string& text, const Call& call,
                       const ThreadFeed* feed) {
    json::object reply{{"type", "error"}, {"id", std::move(id)}, {"error", code}, {"message", text}};
    if (feed != nullptr) addMeta(reply, call, feed->newest());
    return reply;
}

std::optional<json::object> refusalJson(const ThreadCommand& command, const std::exception_ptr& error, const Call& call,
                                        const ThreadFeed* feed) {
    const auto refused = [&](const std::string& code, const std::exception& why) {
        return errorJson(command.id, code, why.what(), call, feed);
    };
    try {
        std::rethrow_exception(error);
    } catch (const CommandError& why) {
        return refused(why.code(), why);
    } catch (const ApiError& why) {
        if (why.status() == 422 || why.status() == 409) return refused("invalid_argument", why);
    } catch (const Error& why) {
        if (statusOf(why)) return refused("invalid_argument", why);
    } catch (...) {
    }
    return {};
}

std::optional<ThreadRecord> threadIfAny(const Call& call) {
    if (!isUuid(call.id(0))) throw InvalidRequest("Invalid thread ID: must be a UUID");
    (void)call.owner();
    if (call.service().records.thread(call.id(0))) return call.thread();
    if (call.isAnothers(call.id(0))) throw NotFound("Thread with ID " + call.id(0) + " not found");
    return {};
}

}  // namespace stategraph::langgraph
