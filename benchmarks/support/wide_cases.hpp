#pragma once
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/wide.hpp"
#include "benchmarks/support/workload.hpp"

/// The measured loops of wide_state, wide_dict and pydantic_state.
namespace bench {

/// `make_input()` returns the run's input; its time is included.
template <class Wide, class F>
void runWide(benchmark::State& state, const WideShape& shape, Store store, F make_input) {
    for (auto _ : state) {
        state.PauseTiming();
        const FreshSaver fresh(store);
        const auto app = wideGraph<Wide>(shape.n).compile({.checkpointer = fresh.saver});
        state.ResumeTiming();
        const auto result = app.invoke(make_input(), {.thread_id = "t",
                                                      .durability = stategraph::Durability::exit,
                                                      .recursion_limit = 1000,
                                                      .max_concurrency = 1});
        if (!isWideResult(result.values, shape)) state.SkipWithError("wrong result");
    }
}

/// The hand-written version: the nodes' work on one struct, without copies of what does not change.
template <class Wide>
void runWideByHand(benchmark::State& state, const WideShape& shape) {
    using Items = typename Wide::Items;
    const typename Wide::ItemType message = wideMessage<typename Wide::Map>(shape.outer, shape.inner);
    // A list is never appended to itself.
    const auto append = [](Items& to, const Items& items) { to.insert(to.end(), items.begin(), items.end()); };
    for (auto _ : state) {
        Wide s;
        s.messages.push_back(message);
        do {
            append(s.trigger_events, s.messages);
            s.primary_issue_medium = randomLetters(shape.n);
            s.autoresponse = s.issue = s.trigger_events.back();
            s.relevant_rules = {*s.autoresponse};
            append(s.categorizations, s.trigger_events);
            append(s.responses, s.trigger_events);
            s.memory_docs = s.trigger_events;
            s.user_info = s.crm_info = s.categorizations.back();
            for (const auto& [key, value] : held(*s.user_info))
                s.slack_participants[key] = s.notified_assignees[key] = value;
            s.email_thread_id = randomLetters(shape.n);
            s.bot_id = randomLetters(shape.n);
            append(s.messages, s.responses);
        } while (s.messages.size() <= shape.n);
        if (!isWideResult(s, shape)) state.SkipWithError("wrong result");
    }
}

/// Adds one shape without a saver, with the memory saver (`_checkpoint`), and written by hand. `make_input` is as for
/// runWide.
template <class Wide, class F>
void addWide(const std::string& workload, const std::string& kind, const WideShape& shape, F make_input) {
    const std::string at = workload + "/" + std::string(shape.name);
    for (const Store store : {Store::none, Store::memory}) {
        add(at + (store == Store::memory ? "_checkpoint" : "") + kind, [=](benchmark::State& state) {
            runWide<Wide>(state, shape, store, make_input);
        })->Unit(benchmark::kMillisecond);
    }
    addFloor(at + kind, [=](benchmark::State& state) {
        runWideByHand<Wide>(state, shape);
    })->Unit(benchmark::kMillisecond);
}

/// Does the same for an input that is one message of the state's type.
template <class Wide>
void addWide(const std::string& workload, const std::string& kind, const WideShape& shape) {
    const typename Wide::ItemType message = wideMessage<typename Wide::Map>(shape.outer, shape.inner);
    addWide<Wide>(workload, kind, shape,
                  [message] { return stategraph::Update<Wide>{stategraph::add(&Wide::messages, message)}; });
}

inline bool isLeftOut(const WideShape& shape) { return quick() && shape.n != 300; }

}  // namespace bench
