// LangGraph's fanout_to_subgraph: a Send for each subject to a subgraph of thirteen supersteps, ten of which are a
// loop.
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"

#include <stategraph/stategraph.hpp>

namespace bench {
namespace {

namespace sg = stategraph;

/// A subject is a list of a thousand letters, which the child's first node joins to a text.
struct Subject {
    std::vector<std::string> letters = {};
    static constexpr auto fields() { return sg::fields(sg::field("letters", &Subject::letters)); }
};

struct Joke {
    std::vector<std::string> letters = {};
    std::string subject = {};
    std::vector<std::string> jokes = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("letters", &Joke::letters), sg::channel("subject", &Joke::subject),
                            sg::channel("jokes", &Joke::jokes));
    }
};
struct Jokes {
    std::vector<Subject> subjects = {};
    std::vector<std::string> jokes = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("subjects", &Jokes::subjects), sg::channel("jokes", &Jokes::jokes, sg::append));
    }
};

std::string textOf(const std::vector<std::string>& letters) {
    std::string text = "[";
    for (const auto& letter : letters) text += (text.size() > 1 ? ", '" : "'") + letter + "'";
    return text + "] - hohoho";
}
constexpr std::string_view ten_bumps = " a a a a a a a a a a";

sg::CompiledGraph<Joke> childGraph() {
    sg::StateGraph<Joke> graph;
    graph
        .addNode("edit", [](const Joke& s) -> sg::Update<Joke> { return {sg::set(&Joke::subject, textOf(s.letters))}; })
        .addNode("generate",
                 [](const Joke& s) -> sg::Update<Joke> { return {sg::set(&Joke::jokes, {"Joke about " + s.subject})}; })
        .addNode("bump", [](const Joke& s) -> sg::Update<Joke> { return {sg::set(&Joke::jokes, {s.jokes[0] + " a"})}; })
        .addEdge(sg::START, "edit")
        .addEdge("edit", "generate")
        .addEdge("generate", "bump")
        .addConditionalEdges("bump", [](const Joke& s) { return s.jokes[0].ends_with(ten_bumps) ? sg::END : "bump"; });
    return graph.compile();
}

sg::StateGraph<Jokes> parentGraph() {
    sg::StateGraph<Jokes> graph;
    graph
        .addNode(
            "generate_joke", childGraph(), [](const Jokes&) { return sg::Update<Joke>(); },
            [](const Joke& s) -> sg::Update<Jokes> { return {sg::add(&Jokes::jokes, s.jokes)}; })
        .addConditionalEdges(sg::START,
                             [](const Jokes& s) {
                                 sg::Targets targets;
                                 for (const auto& subject : s.subjects)
                                     targets.add(sg::Send("generate_joke", Joke{.letters = subject.letters}));
                                 return targets;
                             },
                             {"generate_joke"})
        .addEdge("generate_joke", sg::END);
    return graph;
}

std::vector<Subject> subjectsOf(std::size_t count) {
    std::vector<Subject> subjects(count);
    unsigned random = 1;
    for (auto& subject : subjects) {
        for (int i = 0; i < 1000; ++i) {
            random = random * 1103515245U + 12345U;
            subject.letters.emplace_back(1, static_cast<char>('a' + (random >> 16U) % 26));
        }
    }
    return subjects;
}

void jokes(benchmark::State& state, std::size_t size, Store store, std::optional<int> concurrency) {
    const auto subjects = subjectsOf(size);
    for (auto _ : state) {
        state.PauseTiming();
        const FreshSaver fresh(store);
        const auto app = parentGraph().compile({.checkpointer = fresh.saver});
        state.ResumeTiming();
        const auto result =
            app.invoke({sg::set(&Jokes::subjects, subjects)},
                       {.thread_id = "t", .durability = sg::Durability::exit, .max_concurrency = concurrency});
        if (result.values.jokes.size() != size || !result.values.jokes[0].ends_with(ten_bumps))
            state.SkipWithError("wrong result");
    }
}

void byHand(benchmark::State& state, std::size_t size) {
    const auto subjects = subjectsOf(size);
    for (auto _ : state) {
        const auto copy = subjects;
        std::vector<std::string> all;
        for (const auto& subject : copy) {
            std::vector<std::string> made = {"Joke about " + textOf(subject.letters)};
            while (!made[0].ends_with(ten_bumps)) made = {made[0] + " a"};
            all.insert(all.end(), made.begin(), made.end());
        }
        benchmark::DoNotOptimize(all.data());
    }
}

}  // namespace

void registerCases() {
    for (const std::size_t size : {10, 100}) {
        if (quick() && size > 10) continue;
        add("fanout_to_subgraph/inline", size, [=](benchmark::State& state) { jokes(state, size, Store::none, 1); });
        addFloor("fanout_to_subgraph/inline", size, [=](benchmark::State& state) { byHand(state, size); });
        add("fanout_to_subgraph/pool", size, [=](benchmark::State& state) {
            jokes(state, size, Store::none, {});
        })->UseRealTime();
        add("fanout_to_subgraph/checkpoint", size,
            [=](benchmark::State& state) { jokes(state, size, Store::memory, 1); });
    }
}

}  // namespace bench
