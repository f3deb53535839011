// The cost of a thread with many messages: the time of a step at its end relative to one at 100 messages, and the
// stored bytes relative to the bytes of the messages. There is one message of 200 bytes in each superstep (a run that
// loops), or one in each run (a conversation).
#include <cstdio>
#include <memory>
#include <stdexcept>

#include <rocksdb/db.h>

#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/growing_thread/conversation.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

// The number of gaps around step 100, and before the end (fewer for a short thread), whose median counts.
constexpr std::size_t early = 100;
constexpr std::size_t window = 80;

void report(benchmark::State& state, const std::vector<Clock::time_point>& calls, std::size_t size, double total_s,
            double stored) {
    const double at_end = medianGap(calls, size - std::min(window, size / 5) - 1, size - 1);
    state.SetIterationTime(at_end);
    state.counters["step_at_end_us"] = at_end * 1e6;
    if (size >= early + window / 2) {
        const double at_100 = medianGap(calls, early - window / 2, early + window / 2);
        state.counters["step_at_100_us"] = at_100 * 1e6;
        state.counters["step_ratio"] = at_end / at_100;
    }
    state.counters["total_ms"] = total_s * 1e3;
    if (stored > 0) state.counters["stored_ratio"] = stored / static_cast<double>(size * message_bytes);
}

/// Makes one run of `size` supersteps, each of which appends a message.
void oneRun(benchmark::State& state, Store store, std::size_t size) {
    const auto& texts = messages(size);
    std::vector<Clock::time_point> calls;
    calls.reserve(size + 1);
    const int limit = static_cast<int>(size);
    sg::StateGraph<Conversation> graph;
    graph
        .addNode("say",
                 [&](const Conversation& s) -> sg::Update<Conversation> {
                     calls.push_back(Clock::now());
                     return {sg::add(&Conversation::messages, texts[static_cast<std::size_t>(s.n)]),
                             sg::set(&Conversation::n, s.n + 1)};
                 })
        .addEdge(sg::START, "say")
        .addConditionalEdges("say", [limit](const Conversation& s) { return s.n < limit ? "say" : sg::END; });
    for (auto _ : state) {
        calls.clear();
        const FreshSaver fresh(store);
        const auto app = graph.compile({.checkpointer = fresh.saver});
        const auto begin = Clock::now();
        const auto result = app.invoke({}, {.thread_id = "t", .recursion_limit = limit});
        const double total = secondsSince(begin);
        if (result.values.messages.size() != size) state.SkipWithError("wrong result");
        report(state, calls, size, total, fresh.storedBytes());
    }
}

/// Makes `size` runs of one superstep on one thread, each with a new message. Each run loads the thread and continues
/// it, or begins with what stays in memory.
template <class Conversation>
void oneMessageARun(benchmark::State& state, Store store, std::size_t size, sg::WarmThreads warm = {}) {
    const auto& texts = messages(size);
    std::vector<Clock::time_point> calls;
    sg::StateGraph<Conversation> graph;
    graph
        .addNode("answer",
                 [](const Conversation& s) -> sg::Update<Conversation> { return {sg::set(&Conversation::n, s.n + 1)}; })
        .addEdge(sg::START, "answer")
        .addEdge("answer", sg::END);
    for (auto _ : state) {
        calls.clear();
        const FreshSaver fresh(store);
        const auto app = graph.compile({.checkpointer = fresh.saver, .warm_threads = warm});
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < size; ++i) {
            calls.push_back(Clock::now());
            app.invoke({sg::add(&Conversation::messages, texts[i])}, {.thread_id = "t"});
        }
        const double total = secondsSince(begin);
        const auto held = app.getState({.thread_id = "t"}).values.messages;
        if (held.size() != size || held.back() != texts[size - 1]) state.SkipWithError("wrong result");
        report(state, calls, size, total, fresh.storedBytes());
    }
}

/// The hand-written version: the messages are put into a vector and, one after the other, into a string of bytes or
/// into rows of a database.
void byHand(benchmark::State& state, Store store, std::size_t size) {
    const auto& texts = messages(size);
    for (auto _ : state) {
        std::vector<Clock::time_point> calls;
        calls.reserve(size + 1);
        std::vector<std::string> held;
        std::string log;
        TempFolder folder;
        std::unique_ptr<rocksdb::DB> db;
        if (store == Store::rocksdb) {
            rocksdb::Options options;
            options.create_if_missing = true;
            rocksdb::DB* opened = nullptr;
            if (!rocksdb::DB::Open(options, folder.path(), &opened).ok())
                throw std::runtime_error("cannot open the database");
            db.reset(opened);
        }
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < size; ++i) {
            calls.push_back(Clock::now());
            held.push_back(texts[i]);
            if (db) {
                char key[32];
                const int length = std::snprintf(key, sizeof key, "c/t/%016zu", i);
                if (!db->Put({}, {key, static_cast<std::size_t>(length)}, held.back()).ok())
                    throw std::runtime_error("cannot write");
            } else {
                log.append(held.back());
            }
        }
        const double total = secondsSince(begin);
        benchmark::DoNotOptimize(held.data());
        report(state, calls, size, total, static_cast<double>(db ? folder.databaseBytes() : log.size()));
    }
}

}  // namespace

void registerCases() {
    std::vector<std::size_t> sizes = {100, 1000, 1900};
    if (!quick()) sizes.insert(sizes.end(), {10'000, 100'000});
    for (const Store store : {Store::memory, Store::rocksdb}) {
        for (const std::size_t size : sizes) {
            const std::string name = std::string("growing_thread/one_run_") + toString(store);
            once(add(name, size, [=](benchmark::State& state) { oneRun(state, store, size); }));
            once(addFloor(name, size, [=](benchmark::State& state) { byHand(state, store, size); }));
            // Each run reads the thread, so the sum grows with the square.
            if (size > 10'000) continue;
            auto* added = add(std::string("growing_thread/one_a_run_") + toString(store), size,
                              [=](benchmark::State& state) { oneMessageARun<Conversation>(state, store, size); });
            once(added);
            if (size == 10'000) added->Repetitions(1);  // it takes half a minute
            const sg::WarmThreads warm{.bytes_max = std::size_t{64} << 20U};
            once(add(std::string("growing_thread/one_a_run_warm_") + toString(store), size,
                     [=](benchmark::State& state) { oneMessageARun<SharedConversation>(state, store, size, warm); }));
        }
    }
}

}  // namespace bench
