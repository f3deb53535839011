#include "langgraph/run_request.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

#include <stategraph/command.hpp>
#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/run_events.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

// Each checkpoint of a run has its metadata.
constexpr std::size_t metadata_bytes_max = 16U << 10U;
constexpr std::size_t after_seconds_max = 366UL * 24 * 3600;

const json::value& memberOf(const json::object& of, std::string_view name) {
    static const json::value none;
    const json::value* const found = of.if_contains(name);
    return found != nullptr ? *found : none;
}

}  // namespace

json::object objectIn(const json::object& of, std::string_view name) {
    const json::value& found = memberOf(of, name);
    return found.is_object() ? found.get_object() : json::object();
}

namespace {

bool isHex32(std::string_view text) {
    return text.size() == 32 && std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// Whether an answer names the questions that it answers.
bool namesQuestions(const json::value& resume) {
    const json::object* const object = resume.if_object();
    return object != nullptr && !object->empty() &&
           std::ranges::all_of(*object, [](const auto& each) { return isHex32(each.key()); });
}

Target targetOf(const json::value& target) {
    if (target.is_string()) return Target(std::string(target.get_string()));
    const json::object* const object = target.if_object();
    const json::value* const node = object != nullptr ? object->if_contains("node") : nullptr;
    if (node == nullptr || !node->is_string())
        throw InvalidRequest("command.goto: a target is the name of a node, or {\"node\", \"input\"}");
    return Target(Send(std::string(node->get_string()), Value(memberOf(*object, "input"))));
}

/// Pairs of a channel and a value as an object.
json::value pairsAsObject(const json::value& update) {
    const json::array* const pairs = update.if_array();
    if (pairs == nullptr) return update;
    json::object object;
    for (const json::value& each : *pairs) {
        const json::array* const pair = each.if_array();
        if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string())
            throw InvalidRequest("command.update: must be an object, or a list of pairs of a channel and a value");
        object[(*pair)[0].get_string()] = (*pair)[1];
    }
    return object;
}

std::vector<std::string> nodesIn(const Body& body, std::string_view name, const ServedGraph& graph) {
    std::vector<std::string> nodes = body.texts(name);
    for (const std::string& each : nodes) {
        if (each != "*" && graph.channels.description().find(each) == nullptr)
            body.refuse(name, "the graph has no node '" + each + "'");
    }
    return nodes;
}

json::array listOf(const std::vector<std::string>& texts) {
    json::array list;
    for (const std::string& each : texts) list.emplace_back(each);
    return list;
}

/// Reads the address that is called when the run has ended.
void readWebhook(const Body& body, const RunPlace& place, json::object& kwargs) {
    const std::optional<std::string> address = body.text("webhook");
    if (!address) return;
    if (place.webhooks == nullptr) body.refuse("webhook", "this server sends no webhooks");
    try {
        place.webhooks->check(*address);
    } catch (const InvalidArgumentError& why) {
        body.refuse("webhook", why.message());
    }
    kwargs["webhook"] = *address;
}

json::object configIn(const Body& body, const RunPlace& place, const json::object& ids) {
    const std::optional<Body> given = body.body("config");
    json::object config = merged(place.assistant.config, given ? given->members() : json::object());
    if (given) {
        if (const auto limit = given->number("recursion_limit", 1, 1'000'000)) config["recursion_limit"] = *limit;
    }
    json::object configurable = objectIn(place.assistant.config, "configurable");
    configurable = merged(std::move(configurable), objectIn(place.thread.config, "configurable"));
    if (given) configurable = merged(std::move(configurable), given->object("configurable"));
    configurable = merged(std::move(configurable), place.headers);
    config["configurable"] = merged(std::move(configurable), ids);
    return config;
}

json::object kwargsIn(const Body& body, const RunPlace& place) {
    json::object kwargs;
    if (const json::value* const input = body.members().if_contains("input")) kwargs["input"] = *input;
    if (const std::optional<Body> command = body.body("command")) kwargs["command"] = command->members();
    kwargs["context"] = merged(place.assistant.context, body.object("context"));
    std::vector<std::string> modes = body.texts("stream_mode");
    (void)WantedModes(modes);
    if (modes.empty()) modes.emplace_back("values");
    kwargs["stream_mode"] = listOf(modes);
    for (const char* const name : {"interrupt_before", "interrupt_after"}) {
        if (body.has(name)) kwargs[name] = listOf(nodesIn(body, name, place.graph));
    }
    kwargs["subgraphs"] = body.flag("stream_subgraphs", false);
    kwargs["resumable"] = body.flag("stream_resumable", false);
    if (body.has("durability")) kwargs["durability"] = body.choice("durability", {"async", "sync", "exit"});
    if (body.has("checkpoint_during") && !body.has("durability") && !body.flag("checkpoint_during", true))
        kwargs["durability"] = "exit";
    const Config at = readCheckpoint(body, place.thread.thread_id);
    if (!at.checkpoint_id.empty()) {
        kwargs["checkpoint_id"] = at.checkpoint_id.toString();
        kwargs["checkpoint_ns"] = std::string(at.checkpoint_ns);
    }
    return kwargs;
}

}  // namespace

json::object merged(json::object below, const json::object& above) {
    for (const auto& each : above) below[each.key()] = each.value();
    return below;
}

Config readCheckpoint(const Body& body, const std::string& thread_id) {
    Config config{.thread_id = thread_id};
    std::optional<std::string> id = body.text("checkpoint_id");
    if (const std::optional<Body> checkpoint = body.body("checkpoint")) {
        if (!id) id = checkpoint->text("checkpoint_id");
        config.checkpoint_ns = checkpoint->text("checkpoint_ns", "");
    }
    if (id && !isUuid(*id)) body.refuse("checkpoint_id", "must be a UUID");
    if (id) config.checkpoint_id = CheckpointId(*id);
    return config;
}

Targets readTargets(const json::value& targets) {
    Targets all;
    if (const json::array* const list = targets.if_array()) {
        for (const json::value& each : *list) all.add(targetOf(each));
    } else {
        all.add(targetOf(targets));
    }
    return all;
}

Value readUpdate(const json::value& values, const ServedGraph& graph, const std::string& where) {
    if (!values.is_object()) throw InvalidRequest(where + ": must be an object with the names of channels");
    json::object update = values.get_object();
    for (const auto& each : update) {
        if (graph.channels.description().findChannel(each.key()) == nullptr)
            throw InvalidRequest(where + "." + std::string(each.key()) + ": the graph '" + graph.id +
                                 "' has no such channel");
    }
    graph.channels.read(update);
    return Value(json::value(std::move(update)));
}

detail::RunStart readCommand(const Body& command, const ServedGraph& graph) {
    detail::RunStart start;
    if (const json::value* const resume = command.members().if_contains("resume")) {
        if (namesQuestions(*resume)) {
            std::vector<Answer> answers;
            for (const auto& each : resume->get_object())
                answers.emplace_back(TaskId(std::string(each.key())), Value(each.value()));
            start.answers = std::move(answers);
        } else if (!resume->is_null() || command.members().size() == 1) {
            start.resume = Value(*resume);
        }
    }
    if (const json::value* const update = command.find("update"))
        start.update = readUpdate(pairsAsObject(*update), graph, "command.update");
    if (const json::value* const targets = command.find("goto")) start.go_to = readTargets(*targets);
    return start;
}

detail::RunStart startOf(const ServedGraph& graph, const RunRecord& run) {
    const Body kwargs(run.kwargs, {});
    if (const std::optional<Body> command = kwargs.body("command")) return readCommand(*command, graph);
    detail::RunStart start;
    if (const json::value* const input = kwargs.find("input")) start.input = readUpdate(*input, graph, "input");
    return start;
}

namespace {

/// Refuses metadata that no checkpoint can have, or that are too many for each of them.
void checkMetadata(const Body& body, const RunRecord& run) {
    const json::object stored = storedMetadata(run);
    if (stored.contains("")) body.refuse("metadata", "has a member without a name, or config.configurable has");
    if (stategraph::detail::jsonText(stored).size() > metadata_bytes_max)
        body.refuse("metadata",
                    "has more than 16 KiB, together with config.configurable and what the thread and the assistant "
                    "have of both");
}

}  // namespace

RunRecord readRun(const Body& body, const RunPlace& place) {
    RunRecord run{.run_id = newId(),
                  .thread_id = place.thread.thread_id,
                  .assistant_id = place.assistant.assistant_id,
                  .graph_id = place.graph.id,
                  .owner = place.thread.owner,
                  .created_at = now()};
    run.updated_at = run.created_at;
    run.multitask_strategy = body.choice("multitask_strategy", {"reject", "enqueue", "interrupt", "rollback"});
    run.is_temporary = place.thread.is_temporary;
    run.keeps_thread = body.choice("on_completion", {"delete", "keep"}) == "keep" || !run.is_temporary;
    const json::object ids{{"graph_id", run.graph_id}, {"assistant_id", run.assistant_id}};
    run.metadata = merged(place.assistant.metadata, place.thread.metadata);
    run.metadata = merged(merged(std::move(run.metadata), body.object("metadata")), ids);
    run.kwargs = kwargsIn(body, place);
    readWebhook(body, place, run.kwargs);
    if (const auto seconds = body.number("after_seconds", 0, after_seconds_max); seconds.value_or(0) > 0)
        run.begins_at = isoTime(place.now + std::chrono::seconds(*seconds), 6);
    json::object config = configIn(body, place, merged(ids, {{"run_id", run.run_id}, {"thread_id", run.thread_id}}));
    config["metadata"] = merged(objectIn(config, "metadata"), run.metadata);
    run.kwargs["config"] = std::move(config);
    run.kwargs["temporary"] = run.losesThread();
    checkMetadata(body, run);
    return run;
}

json::object storedMetadata(const RunRecord& run) {
    const json::object config = objectIn(run.kwargs, "config");
    json::object metadata;
    for (const auto& each : objectIn(config, "configurable")) {
        if (!each.key().starts_with("__") && each.value().is_primitive()) metadata[each.key()] = each.value();
    }
    metadata = merged(std::move(metadata), objectIn(config, "metadata"));
    metadata["run_id"] = run.run_id;
    metadata["thread_id"] = run.thread_id;
    metadata["run_attempt"] = run.attempt;
    if (const json::value& at = memberOf(run.kwargs, "checkpoint_id"); at.is_string()) metadata["checkpoint_id"] = at;
    // The words of the library, and what says whose a thread is.
    for (const char* const taken : {"source", "step", "parents", serve::owner_key}) metadata.erase(taken);
    return metadata;
}

std::vector<std::string> modesOf(const RunRecord& run) { return Body(run.kwargs, {}).texts("stream_mode"); }

bool flagOf(const RunRecord& run, std::string_view name) { return memberOf(run.kwargs, name) == json::value(true); }

RunConfig configOf(const ServedGraph& graph, const RunRecord& run) {
    const json::object settings = objectIn(run.kwargs, "config");
    RunConfig config = graph.graph->options().config;
    for (const auto& each : storedMetadata(run))
        static_cast<Metadata&>(config.metadata).push_back({std::string(each.key()), Value(each.value())});
    const Body kwargs(run.kwargs, {});
    if (kwargs.has("interrupt_before")) config.interrupt_before = NodeNames(kwargs.texts("interrupt_before"));
    if (kwargs.has("interrupt_after")) config.interrupt_after = NodeNames(kwargs.texts("interrupt_after"));
    if (const auto limit = Body(settings, {}).number("recursion_limit", 1, 1'000'000))
        config.recursion_limit = static_cast<int>(*limit);
    if (const auto durability = kwargs.text("durability")) {
        config.durability = *durability == "sync"   ? Durability::sync
                            : *durability == "exit" ? Durability::exit
                                                    : Durability::async;
    }
    if (const auto at = kwargs.text("checkpoint_id")) {
        config.checkpoint_id = CheckpointId(*at);
        config.checkpoint_ns = kwargs.text("checkpoint_ns", "");
    }
    config.on_busy = OnBusy::wait;
    RunSettings given{.run_id = run.run_id,
                      .thread_id = run.thread_id,
                      .assistant_id = run.assistant_id,
                      .graph_id = run.graph_id,
                      .configurable = Value(json::value(objectIn(settings, "configurable"))),
                      .context = Value(json::value(objectIn(run.kwargs, "context")))};
    if (graph.graph->options().prepare) graph.graph->options().prepare(given, config);
    config.context = config.context.with(std::move(given));
    return config;
}

json::object runJson(const RunRecord& run) {
    return {{"run_id", run.run_id},
            {"thread_id", run.thread_id},
            {"assistant_id", run.assistant_id},
            {"status", run.status},
            {"metadata", run.metadata},
            {"kwargs", run.kwargs},
            {"multitask_strategy", run.multitask_strategy},
            {"created_at", run.created_at},
            {"updated_at", run.updated_at}};
}

}  // namespace stategraph::langgraph
