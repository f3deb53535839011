// LangGraph's wide_state: fifteen channels, six nodes, a join and a loop that ends when there are more than n messages.
// Lists are concatenated with themselves, so that most of the work is copying what the state's lists hold.
#include <memory>

#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/wide_state/wide.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

struct Shape {
    std::size_t n;
    int outer;
    int inner;
};

inline const Item& held(const Item& item) { return item; }
inline const Item& held(const sg::Shared<Item>& item) { return *item; }

template <class Wide>
sg::StateGraph<Wide> wideGraph(std::size_t n) {
    using Items = typename Wide::Items;
    sg::StateGraph<Wide> graph;
    graph
        .addNode("one",
                 [](const Wide& s) -> sg::Update<Wide> {
                     return {sg::add(&Wide::trigger_events, s.messages),
                             sg::add(&Wide::primary_issue_medium, std::string("abcde"))};
                 })
        .addNode("two",
                 [](const Wide& s) -> sg::Update<Wide> {
                     return {sg::add(&Wide::autoresponse, s.trigger_events.back()),
                             sg::add(&Wide::issue, s.trigger_events.back())};
                 })
        .addNode(
            "three",
            [](const Wide& s) -> sg::Update<Wide> { return {sg::set(&Wide::relevant_rules, Items{*s.autoresponse})}; })
        .addNode("four",
                 [](const Wide& s) -> sg::Update<Wide> {
                     return {sg::add(&Wide::categorizations, s.trigger_events),
                             sg::add(&Wide::responses, s.trigger_events),
                             sg::set(&Wide::memory_docs, s.trigger_events)};
                 })
        .addNode("five",
                 [](const Wide& s) -> sg::Update<Wide> {
                     const auto& last = s.categorizations.back();
                     return {
                         sg::add(&Wide::user_info, last),           sg::add(&Wide::crm_info, last),
                         sg::add(&Wide::email_thread_id, "abcdef"), sg::merge(&Wide::slack_participants, held(last)),
                         sg::set(&Wide::bot_id, "abcdef"),          sg::merge(&Wide::notified_assignees, held(last))};
                 })
        .addNode("six", [](const Wide& s) -> sg::Update<Wide> { return {sg::add(&Wide::messages, s.responses)}; })
        .addEdge(sg::START, "one")
        .addEdge("one", "two")
        .addEdge("two", "three")
        .addEdge("two", "four")
        .addEdge({"three", "four"}, "five")
        .addEdge("five", "six")
        .addConditionalEdges("six", [n](const Wide& s) { return s.messages.size() > n ? sg::END : "one"; });
    return graph;
}

template <class ItemType>
void wide(benchmark::State& state, const Shape& shape, Store store) {
    using Wide = WideOf<ItemType>;
    const ItemType message = wideMessage(shape.outer, shape.inner);
    const std::size_t expected = shape.n == 300 ? 595 : 1873;
    for (auto _ : state) {
        state.PauseTiming();
        const FreshSaver fresh(store);
        const auto app = wideGraph<Wide>(shape.n).compile({.checkpointer = fresh.saver});
        state.ResumeTiming();
        const auto result = app.invoke(
            {sg::add(&Wide::messages, message)},
            {.thread_id = "t", .durability = sg::Durability::exit, .recursion_limit = 1000, .max_concurrency = 1});
        if (result.values.messages.size() != expected) state.SkipWithError("wrong result");
    }
}

/// The same by hand: the nodes' work on one struct, without copies of what does not change.
template <class ItemType>
void byHand(benchmark::State& state, const Shape& shape) {
    using Wide = WideOf<ItemType>;
    using Items = typename Wide::Items;
    const ItemType message = wideMessage(shape.outer, shape.inner);
    // Never a list to itself.
    const auto append = [](Items& to, const Items& items) { to.insert(to.end(), items.begin(), items.end()); };
    for (auto _ : state) {
        Wide s;
        s.messages.push_back(message);
        do {
            append(s.trigger_events, s.messages);
            s.autoresponse = s.issue = s.trigger_events.back();
            s.relevant_rules = {*s.autoresponse};
            append(s.categorizations, s.trigger_events);
            append(s.responses, s.trigger_events);
            s.memory_docs = s.trigger_events;
            s.user_info = s.crm_info = s.categorizations.back();
            for (const auto& [key, value] : held(*s.user_info))
                s.slack_participants[key] = s.notified_assignees[key] = value;
            append(s.messages, s.responses);
        } while (s.messages.size() <= shape.n);
        benchmark::DoNotOptimize(s.messages.data());
    }
}

template <class ItemType>
void registerCase(const std::string& at, const std::string& kind, const Shape& shape) {
    for (const Store store : {Store::none, Store::memory}) {
        const std::string full = at + (store == Store::memory ? "_checkpoint" : "") + kind;
        add(full, [=](benchmark::State& state) { wide<ItemType>(state, shape, store); })->Unit(benchmark::kMillisecond);
    }
    addFloor(at + kind, [=](benchmark::State& state) {
        byHand<ItemType>(state, shape);
    })->Unit(benchmark::kMillisecond);
}

}  // namespace

void registerCases() {
    for (const auto& [name, shape] :
         {std::pair{"25x300", Shape{300, 5, 5}}, {"15x600", Shape{600, 3, 5}}, {"9x1200", Shape{1200, 3, 3}}}) {
        if (quick() && shape.n != 300) continue;
        const std::string at = std::string("wide_state/") + name;
        registerCase<sg::Shared<Item>>(at, "", shape);
        registerCase<Item>(at, "_copied", shape);
    }
}

}  // namespace bench
