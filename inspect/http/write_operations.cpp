#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <stategraph/answer.hpp>
#include <stategraph/error.hpp>
#include <stategraph/fork.hpp>

#include "inspect/http/api_call.hpp"
#include "inspect/views.hpp"

// The operations that store, and those that a graph runs.
namespace stategraph::inspect {
namespace {

struct GivenAnswer {
    std::optional<std::string> id;
    std::optional<std::string> key;
    Value value;
    static constexpr auto fields() {
        return stategraph::fields(field("id", &GivenAnswer::id), field("key", &GivenAnswer::key),
                                  field("value", &GivenAnswer::value));
    }
};
struct ForkBody {
    std::string note;
    static constexpr auto fields() { return stategraph::fields(field("note", &ForkBody::note, defaulted)); }
};
struct EditBody {
    std::string graph;
    Value values;
    std::optional<std::string> as_node;
    static constexpr auto fields() {
        return stategraph::fields(field("graph", &EditBody::graph, defaulted), field("values", &EditBody::values),
                                  field("as_node", &EditBody::as_node));
    }
};
struct RunBody {
    std::string graph;
    std::optional<std::string> checkpoint_id;
    std::optional<Value> input;
    std::vector<GivenAnswer> answers;
    std::string until = "end";
    /// Breakpoints instead of those of the graph; none: the graph's.
    std::optional<std::vector<std::string>> interrupt_before;
    std::optional<std::vector<std::string>> interrupt_after;
    static constexpr auto fields() {
        return stategraph::fields(
            field("graph", &RunBody::graph, defaulted), field("checkpoint_id", &RunBody::checkpoint_id),
            field("input", &RunBody::input), field("answers", &RunBody::answers, defaulted),
            field("until", &RunBody::until, defaulted), field("interrupt_before", &RunBody::interrupt_before),
            field("interrupt_after", &RunBody::interrupt_after));
    }
};

struct StoredView {
    std::string checkpoint_id;
    static constexpr auto fields() { return stategraph::fields(field("checkpoint_id", &StoredView::checkpoint_id)); }
};
struct AnsweredView {
    /// The number of questions that are still open.
    std::uint64_t left = 0;
    static constexpr auto fields() { return stategraph::fields(field("left", &AnsweredView::left)); }
};
struct BegunView {
    std::string run;
    static constexpr auto fields() { return stategraph::fields(field("run", &BegunView::run)); }
};
struct StoppedView {
    bool stopped = false;
    static constexpr auto fields() { return stategraph::fields(field("stopped", &StoppedView::stopped)); }
};

std::vector<Answer> answersOf(std::vector<GivenAnswer> given) {
    std::vector<Answer> answers;
    for (GivenAnswer& each : given) {
        if (each.id.has_value() == each.key.has_value())
            throw InvalidArgumentError("an answer names its question by id or by key, one of both");
        if (each.id) {
            answers.emplace_back(TaskId(*each.id), std::move(each.value));
        } else {
            answers.emplace_back(*each.key, std::move(each.value));
        }
    }
    return answers;
}

std::shared_ptr<ServedGraph> graphOf(const ApiCall& call, const std::string& name) {
    const auto graphs = call.api.graphs();
    if (name.empty() && graphs.size() == 1) return graphs.begin()->second;
    const auto found = graphs.find(name);
    if (found != graphs.end()) return found->second;
    std::string names;
    for (const auto& [each, graph] : graphs) names += (names.empty() ? "" : ", ") + each;
    throw InvalidArgumentError("there is no graph '" + name + "' here; there are: " + names);
}

// Errors: InvalidArgumentError for a name that no node has.
NodeNames breakpoints(const ServedGraph& graph, std::vector<std::string> names) {
    const std::vector<std::string> nodes = graph.nodes();
    for (const std::string& name : names) {
        if (name == "*" || std::ranges::find(nodes, name) != nodes.end()) continue;
        std::string known;
        for (const std::string& each : nodes) known += (known.empty() ? "" : ", ") + each;
        throw InvalidArgumentError("a breakpoint names the node '" + name +
                                   "', which this graph does not have; it has " + known);
    }
    return {std::move(names)};
}

void setBreakpoints(RunConfig& config, RunBody& body, const ServedGraph& graph) {
    if (body.until != "end" && body.until != "next") throw InvalidArgumentError("until must be end or next");
    if (body.until == "next") {
        if (body.interrupt_before || body.interrupt_after)
            throw InvalidArgumentError("a run that stops after one superstep (until: next) takes no breakpoints");
        config.interrupt_after = NodeNames(graph.nodes());
        return;
    }
    if (body.interrupt_before) config.interrupt_before = breakpoints(graph, *std::move(body.interrupt_before));
    if (body.interrupt_after) config.interrupt_after = breakpoints(graph, *std::move(body.interrupt_after));
}

// Everything that the page stores is marked, so that a history shows it.
Metadata byInspector(const std::string& note) {
    Metadata metadata = {{"by", "stategraph inspector"}};
    if (!note.empty()) metadata.push_back({"note", note});
    return metadata;
}

}  // namespace

serve::HandlerAnswer storeAnswer(ApiCall& call) {
    const auto answers = answersOf({call.body<GivenAnswer>()});
    const auto left =
        answer(call.api.saver(), {.thread_id = ThreadId(call.thread)}, answers, {.durability = Durability::sync});
    return json(AnsweredView{left.size()});
}

serve::HandlerAnswer storeFork(ApiCall& call) {
    const auto body = call.body<ForkBody>();
    const Config made =
        fork(call.api.saver(), call.config(), {.metadata = byInspector(body.note), .durability = Durability::sync});
    return json(StoredView{made.checkpoint_id.toString()});
}

serve::HandlerAnswer storeEdit(ApiCall& call) {
    const auto body = call.body<EditBody>();
    const Config made = graphOf(call, body.graph)->edit(call.config(), body.values, body.as_node);
    return json(StoredView{made.checkpoint_id.toString()});
}

serve::HandlerAnswer beginRun(ApiCall& call) {
    auto body = call.body<RunBody>();
    if (body.input && !body.answers.empty()) throw InvalidArgumentError("a run takes an input or answers, not both");
    const auto graph = graphOf(call, body.graph);
    RunConfig config{.metadata = byInspector("")};
    if (body.checkpoint_id) config.checkpoint_id = CheckpointId(*body.checkpoint_id);
    setBreakpoints(config, body, *graph);
    const serve::Begin work = body.answers.empty() ? graph->begin(body.input.value_or(Value()))
                                                   : graph->begin(answersOf(std::move(body.answers)));
    call.api.runs().begin(call.thread, std::move(config), work);
    return {.status = 202, .body = toJson(BegunView{"under way"}) + "\n"};
}

serve::HandlerAnswer stopRun(ApiCall& call) { return json(StoppedView{call.api.runs().stop(call.thread)}); }

}  // namespace stategraph::inspect
