// LangGraph's wide_dict: the graph of wide_state with a state whose channels are named at run time and hold JSON, like
// those of a Python dict. Nodes pass values on as sg::SharedJson.
#include <memory>

#include <stategraph/json.hpp>

#include "benchmarks/workloads/wide_dict/wide_dict.hpp"

namespace bench {
namespace {

namespace sg = stategraph;
namespace json = boost::json;
using State = sg::JsonState;
using Update = sg::Update<State>;

sg::JsonSchema wideSchema() {
    using sg::JsonReducer;
    using Json = sg::SharedJson;
    const auto newest = JsonReducer::binaryShared(
        "newest", [](const Json&, const Json& written) { return written; }, nullptr);
    const auto unless_null = JsonReducer::binaryShared(
        "unless_null", [](const Json& value, const Json& written) { return written.isNull() ? value : written; },
        nullptr);
    const auto new_or_old = JsonReducer::binaryShared(
        "new_or_old",
        [](const Json& value, const Json& written) { return written.get().as_string().empty() ? value : written; },
        "email");
    sg::JsonSchema schema;
    schema.channel("messages", JsonReducer::append())
        .channel("trigger_events", JsonReducer::append())
        .channel("primary_issue_medium", new_or_old)
        .channel("autoresponse", newest)
        .channel("issue", unless_null)
        .channel("relevant_rules")
        .channel("memory_docs")
        .channel("categorizations", JsonReducer::append())
        .channel("responses", JsonReducer::append())
        .channel("user_info", unless_null)
        .channel("crm_info", unless_null)
        .channel("email_thread_id", unless_null)
        .channel("slack_participants", JsonReducer::merge())
        .channel("bot_id")
        .channel("notified_assignees", JsonReducer::merge());
    return schema;
}

/// Returns the input's only message, which equals that of wide_state.
json::value jsonMessage(int outer, int inner) {
    json::array values;
    for (int i = 0; i < 5; ++i) {
        std::string greeting;
        for (int j = 0; j < 10; ++j) greeting += "hi?";
        for (const json::value& value : json::array{greeting, true, 1, 6327816386138, nullptr}) values.push_back(value);
    }
    json::object message;
    for (int i = 0; i < outer; ++i) {
        json::object part;
        for (int j = 0; j < inner; ++j) part[digits(j)] = values;
        message[digits(i)] = std::move(part);
    }
    return message;
}

sg::StateGraph<State> jsonGraph(std::size_t n) {
    sg::StateGraph<State> graph(wideSchema());
    graph
        .addNode("one",
                 [n](const State& s) -> Update {
                     return {sg::write("trigger_events", s.shared("messages")),
                             sg::write("primary_issue_medium", randomLetters(n))};
                 })
        .addNode("two",
                 [](const State& s) -> Update {
                     const sg::SharedJson last = s.shared("trigger_events").back();
                     return {sg::write("autoresponse", last), sg::write("issue", last)};
                 })
        .addNode("three",
                 [](const State& s) -> Update {
                     return {sg::write("relevant_rules", sg::SharedJson::list({s.shared("autoresponse")}))};
                 })
        .addNode("four",
                 [](const State& s) -> Update {
                     const sg::SharedJson events = s.shared("trigger_events");
                     return {sg::write("categorizations", events), sg::write("responses", events),
                             sg::write("memory_docs", events)};
                 })
        .addNode("five",
                 [n](const State& s) -> Update {
                     const sg::SharedJson last = s.shared("categorizations").back();
                     return {sg::write("user_info", last),
                             sg::write("crm_info", last),
                             sg::write("email_thread_id", randomLetters(n)),
                             sg::write("slack_participants", last),
                             sg::write("bot_id", randomLetters(n)),
                             sg::write("notified_assignees", last)};
                 })
        .addNode("six", [](const State& s) -> Update { return {sg::write("messages", s.shared("responses"))}; })
        .addEdge(sg::START, "one")
        .addEdge("one", "two")
        .addEdge("two", "three")
        .addEdge("two", "four")
        .addEdge({"three", "four"}, "five")
        .addEdge("five", "six")
        .addConditionalEdges("six", [n](const State& s) { return s.shared("messages").size() > n ? sg::END : "one"; });
    return graph;
}

void wide(benchmark::State& state, const WideShape& shape, Store store) {
    const json::value messages = json::array{jsonMessage(shape.outer, shape.inner)};
    const std::size_t expected = shape.n == 300 ? 595 : 1873;
    for (auto _ : state) {
        state.PauseTiming();
        const FreshSaver fresh(store);
        const auto app = jsonGraph(shape.n).compile({.checkpointer = fresh.saver});
        state.ResumeTiming();
        const auto result = app.invoke(
            {sg::write("messages", messages)},
            {.thread_id = "t", .durability = sg::Durability::exit, .recursion_limit = 1000, .max_concurrency = 1});
        if (result.values.shared("messages").size() != expected) state.SkipWithError("wrong result");
    }
}

}  // namespace

void addJsonCases(const WideShape& shape) {
    for (const Store store : {Store::none, Store::memory}) {
        const std::string full =
            "wide_dict/" + std::string(shape.name) + (store == Store::memory ? "_checkpoint" : "") + "_json";
        add(full, [=](benchmark::State& state) { wide(state, shape, store); })->Unit(benchmark::kMillisecond);
    }
}

}  // namespace bench
