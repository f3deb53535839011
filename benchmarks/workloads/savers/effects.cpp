// What excludes other processes: the claim before the function of `once`, and the hold on a thread that is run. One
// iteration is a run of one node on a new thread.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/forwarding_saver.hpp>

#include "benchmarks/support/bare_postgres.hpp"
#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/savers/effects.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

/// A saver whose threads several processes may run at once.
class Unheld : public sg::ForwardingSaver {
public:
    explicit Unheld(std::shared_ptr<sg::BaseCheckpointSaver> store) : ForwardingSaver(std::move(store)) {}
    bool holdsThreads() const noexcept override { return false; }
    std::unique_ptr<sg::ThreadHold> tryHold(std::string_view thread_id) override {
        return BaseCheckpointSaver::tryHold(thread_id);
    }
};

enum class Effect { none, claimed, unclaimed };

void effects(benchmark::State& state, Store store, sg::Durability durability, Effect effect, bool holds) {
    const FreshSaver fresh(store);
    sg::StateGraph<Counter> graph;
    graph.addNode("a", [effect](const Counter& s, sg::Runtime& runtime) -> sg::Update<Counter> {
        if (effect == Effect::none) return countOne(s);
        const auto policy = effect == Effect::claimed ? sg::OnDoubt::repeat : sg::OnDoubt::repeat_unclaimed;
        return {sg::set(&Counter::n, runtime.once(
                                         "effect", [&] { return s.n + 1; }, policy))};
    });
    graph.addEdge(sg::START, "a").addEdge("a", sg::END);
    sg::CompileOptions options;
    options.checkpointer = fresh.saver;
    if (!holds) options.checkpointer = std::make_shared<Unheld>(fresh.saver);
    const auto app = graph.compile(options);
    std::size_t thread = 0;
    for (auto _ : state) {
        const auto result = app.invoke({sg::set(&Counter::n, 0)},
                                       {.thread_id = "t" + std::to_string(thread++), .durability = durability});
        if (result.values.n != 1) state.SkipWithError("wrong result");
    }
}

}  // namespace

void registerEffects() {
    const std::pair<sg::Durability, const char*> durabilities[] = {{sg::Durability::async, "_async"},
                                                                   {sg::Durability::sync, "_sync"}};
    std::vector<Store> stores;
#if STATEGRAPH_HAS_SQLITE
    stores.push_back(Store::sqlite);
#endif
#if STATEGRAPH_HAS_POSTGRES
    if (!postgresConninfo().empty()) stores.push_back(Store::postgres);
#endif
    for (const Store store : stores) {
        for (const auto& [durability, name] : durabilities) {
            const auto one = [=, durability = durability, suffix = std::string(toString(store)) + name](
                                 const char* what, Effect effect, bool holds) {
                add("savers/" + std::string(what) + "_" + suffix, [=](benchmark::State& state) {
                    effects(state, store, durability, effect, holds);
                })->UseRealTime();
            };
            one("run", Effect::none, true);
            one("run_unheld", Effect::none, false);
            one("once", Effect::claimed, true);
            one("once_unclaimed", Effect::unclaimed, true);
        }
    }
}

}  // namespace bench
