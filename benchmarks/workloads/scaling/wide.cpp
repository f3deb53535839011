// Large widths, depths and numbers: resuming a fan-out of which one task failed, reading a thread's unfinished
// superstep, subgraphs in subgraphs, and the unfinished threads of a store. The time of an iteration is divided by the
// size, so that a straight line means a cost that grows only with the size.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/record.hpp>
#include <stategraph/runtime.hpp>
#include <stategraph/thread_summary.hpp>
#include <stategraph/unfinished.hpp>

#include "benchmarks/support/counter.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/workloads/scaling/scaling.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

/// START sends this many numbers to "work", which fails for the middle one while `fails` is set.
sg::StateGraph<Counter> fanOut(int size, const bool& fails) {
    sg::StateGraph<Counter> graph;
    graph.addNode("work", [size, &fails](const int& number) -> sg::Update<Counter> {
        if (fails && number == size / 2) throw std::runtime_error("no");
        return {};
    });
    graph.addConditionalEdges(sg::START,
                              [size](const Counter&) {
                                  std::vector<sg::Send> sends;
                                  for (int i = 0; i < size; ++i) sends.emplace_back("work", i);
                                  return sends;
                              },
                              {"work"});
    return graph;
}

void failOnce(const sg::CompiledGraph<Counter>& app, const std::string& thread, sg::Durability durability) {
    try {
        app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = thread, .durability = durability, .max_concurrency = 1});
    } catch (const sg::NodeError&) {
        // This failure is expected.
    }
}

void resume(benchmark::State& state, int size, sg::Durability durability) {
    bool fails = true;
    for (auto _ : state) {
        state.PauseTiming();
        const FreshSaver fresh(Store::memory);
        const auto app = fanOut(size, fails).compile({.checkpointer = fresh.saver});
        fails = true;
        failOnce(app, "t", durability);
        fails = false;
        state.ResumeTiming();
        app.invoke(sg::RESUME, {.thread_id = "t", .durability = durability, .max_concurrency = 1});
    }
    state.counters["items"] = size;
}

void read(benchmark::State& state, int size) {
    const bool fails = true;
    const FreshSaver fresh(Store::memory);
    const auto app = fanOut(size, fails).compile({.checkpointer = fresh.saver});
    failOnce(app, "t", sg::Durability::async);
    for (auto _ : state) benchmark::DoNotOptimize(app.getState({.thread_id = "t"}));
    state.counters["items"] = size;
}

void nested(benchmark::State& state, int depth) {
    sg::StateGraph<Counter> innermost;
    innermost.addNode("x", countOne).addEdge(sg::START, "x");
    auto app = innermost.compile();
    const FreshSaver fresh(Store::memory);
    for (int i = 0; i < depth; ++i) {
        sg::StateGraph<Counter> outer;
        outer.addNode("x", app).addEdge(sg::START, "x");
        app = i + 1 < depth ? outer.compile() : outer.compile({.checkpointer = fresh.saver});
    }
    int runs = 0;
    for (auto _ : state) app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = std::to_string(runs++)});
    state.counters["items"] = depth;
}

void unfinished(benchmark::State& state, int threads) {
    const bool fails = true;
    const FreshSaver fresh(Store::memory);
    const auto app = fanOut(1, fails).compile({.checkpointer = fresh.saver});
    for (int i = 0; i < threads; ++i) failOnce(app, "thread-" + std::to_string(i), sg::Durability::async);
    for (auto _ : state) {
        if (fresh.saver->unfinishedThreads().size() != static_cast<std::size_t>(threads))
            state.SkipWithError("wrong result");
    }
    state.counters["items"] = threads;
}

// Each thread was open while it ran.
void fillFinished(const FreshSaver& fresh, int threads) {
    sg::StateGraph<Counter> graph;
    graph.addNode("x", countOne).addEdge(sg::START, "x");
    const auto app = graph.compile({.checkpointer = fresh.saver});
    for (int i = 0; i < threads; ++i)
        app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = "thread-" + std::to_string(i)});
}

// This many threads are finished, and ten wait.
void waiting(benchmark::State& state, int threads, Store store) {
    const bool fails = true;
    const FreshSaver fresh(store);
    fillFinished(fresh, threads);
    const auto failing = fanOut(1, fails).compile({.checkpointer = fresh.saver});
    for (int i = 0; i < 10; ++i) failOnce(failing, "waits-" + std::to_string(i), sg::Durability::async);
    for (auto _ : state) {
        if (fresh.saver->unfinishedThreads().size() != 10) state.SkipWithError("wrong result");
    }
    state.counters["items"] = 1;
}

// Reads a page of the newest 50, from the index alone.
void newest(benchmark::State& state, int threads, Store store) {
    const FreshSaver fresh(store);
    fillFinished(fresh, threads);
    for (auto _ : state) {
        if (fresh.saver->newestThreads({.limit = 50})->size() != 50) state.SkipWithError("wrong result");
    }
    state.counters["items"] = 1;
}

// Finished threads of 1,000 customers; those of one are found, by the entries of the index or by reading all newest
// checkpoints.
void search(benchmark::State& state, int threads, Store store, bool by_index) {
    constexpr int customers = 1000;
    const sg::Metadata wanted{{"customer", sg::Value(7)}};
    const FreshSaver fresh(store);
    sg::StateGraph<Counter> graph;
    graph.addNode("x", countOne).addEdge(sg::START, "x");
    const auto app = graph.compile({.checkpointer = fresh.saver});
    for (int i = 0; i < threads; ++i)
        app.invoke({sg::set(&Counter::n, 0)},
                   {.thread_id = "thread-" + std::to_string(i), .metadata = {{"customer", sg::Value(i % customers)}}});
    for (auto _ : state) {
        int found = 0;
        sg::NewestThreadsQuery query{.limit = 500, .with_summaries = by_index};
        for (;;) {
            const auto page = fresh.saver->newestThreads(query);
            sg::ListQuery heads{.checkpoint_ns = "", .heads = true};
            for (const sg::IndexedThread& thread : *page) {
                const bool may =
                    !by_index || sg::readThreadSummary(*thread.summary)->hasMetadata(wanted).value_or(true);
                if (may) heads.thread_ids.push_back(thread.place.thread_id);
            }
            if (!heads.thread_ids.empty()) {
                for (const auto& head : fresh.saver->list(heads)) {
                    const std::string metadata = sg::readHeader({head.thread_id, "", head.id}, head.bytes).metadata;
                    found += metadata.find(wanted.front().value.bytes(), 10) == metadata.size() - 1 ? 1 : 0;
                }
            }
            if (page->size() < query.limit) break;
            query.before = page->back().place;
        }
        benchmark::DoNotOptimize(found);
    }
    state.counters["items"] = threads;
}

sg::StateGraph<Counter> asking() {
    sg::StateGraph<Counter> graph;
    graph.addNode("ask", [](const Counter&, sg::Runtime& rt) -> sg::Update<Counter> {
        return {sg::set(&Counter::n, sg::interrupt<int>(rt, "?"))};
    });
    return graph.addEdge(sg::START, "ask");
}

// Each thread waits for an answer. Reads a page of 50 of them with their questions, which needs the index and 50 reads.
void asked(benchmark::State& state, int threads, Store store) {
    const FreshSaver fresh(store);
    const auto app = asking().compile({.checkpointer = fresh.saver});
    for (int i = 0; i < threads; ++i)
        app.invoke({sg::set(&Counter::n, 0)}, {.thread_id = "thread-" + std::to_string(i)});
    for (auto _ : state) {
        const auto page = fresh.saver->newestThreads({.statuses = sg::Status::interrupted, .limit = 50});
        sg::UnfinishedQuery query;
        for (const auto& thread : *page) query.thread_ids.push_back(thread.place.thread_id);
        if (fresh.saver->unfinishedThreads(query).size() != 50) state.SkipWithError("wrong result");
    }
    state.counters["items"] = 1;
}

// Each thread sleeps. The first one to wake is found, and then sleeps again until after all others.
void nextDue(benchmark::State& state, int threads, Store store) {
    sg::StateGraph<Counter> graph;
    const auto begin = std::chrono::system_clock::now() + std::chrono::hours(1);
    graph.addNode("sleep", [begin](const Counter& counter, sg::Runtime& rt) -> sg::Update<Counter> {
        rt.sleepUntil(begin + std::chrono::milliseconds(counter.n), "s");
        return {};
    });
    graph.addEdge(sg::START, "sleep");
    const FreshSaver fresh(store);
    const auto app = graph.compile({.checkpointer = fresh.saver});
    for (int i = 0; i < threads; ++i)
        app.invoke({sg::set(&Counter::n, i)}, {.thread_id = "thread-" + std::to_string(i)});
    int later = threads;
    for (auto _ : state) {
        const auto due = fresh.saver->dueThreads({.limit = 1});
        if (due->size() != 1) state.SkipWithError("wrong result");
        state.PauseTiming();
        const auto head = fresh.saver->list({.thread_id = due->front().thread_id, .checkpoint_ns = "", .heads = true});
        fresh.saver->put({.log = {due->front().thread_id},
                          .expected_head = head.front().id,
                          .commits = {},
                          .writes = {},
                          .outlook = {sg::Status::sleeping, begin + std::chrono::milliseconds(later++)}});
        state.ResumeTiming();
    }
    state.counters["items"] = 1;
}

}  // namespace

void registerWide() {
    for (const std::size_t size : sizesUpTo(1000, {100, 1000, 10'000})) {
        const int count = static_cast<int>(size);
        add("scaling/wide_resume", size, [=](benchmark::State& state) { resume(state, count, sg::Durability::async); });
        add("scaling/wide_resume_exit", size,
            [=](benchmark::State& state) { resume(state, count, sg::Durability::exit); });
        add("scaling/wide_read", size, [=](benchmark::State& state) { read(state, count); });
        add("scaling/unfinished_memory", size, [=](benchmark::State& state) { unfinished(state, count); });
    }
    for (const std::size_t size : sizesUpTo(1000, {1000, 100'000})) {
        const int count = static_cast<int>(size);
        for (const auto& [name, store] : {std::pair{"memory", Store::memory}, std::pair{"rocksdb", Store::rocksdb}}) {
            add(std::string("scaling/ten_waiting_among_finished_") + name, size,
                [=](benchmark::State& state) { waiting(state, count, store); });
            add(std::string("scaling/newest_fifty_of_") + name, size,
                [=](benchmark::State& state) { newest(state, count, store); });
            for (const bool by_index : {true, false}) {
                add(std::string(by_index ? "scaling/search_" : "scaling/search_by_reading_") + name, size,
                    [=](benchmark::State& state) { search(state, count, store, by_index); });
            }
            add(std::string("scaling/fifty_asked_of_") + name, size,
                [=](benchmark::State& state) { asked(state, count, store); });
            add(std::string("scaling/next_due_of_") + name, size,
                [=](benchmark::State& state) { nextDue(state, count, store); });
        }
    }
    for (const std::size_t depth : sizesUpTo(100, {10, 100, 400})) {
        add("scaling/nested_memory", depth, [=](benchmark::State& state) { nested(state, static_cast<int>(depth)); });
    }
}

}  // namespace bench
