// Reads and edits a stored thread with up to 10,000 messages of 200 bytes, one in each superstep.
#include <memory>

#include "benchmarks/support/bare_rocksdb.hpp"
#include "benchmarks/support/savers.hpp"
#include "benchmarks/support/workload.hpp"
#include "benchmarks/workloads/growing_thread/conversation.hpp"

namespace bench {
namespace {

namespace sg = stategraph;

/// A saver that contains one thread "t" with `size` supersteps.
struct Stored {
    Stored(Store store, std::size_t size) : fresh(store), app(graph(size).compile({.checkpointer = fresh.saver})) {
        app.invoke({}, {.thread_id = "t", .recursion_limit = static_cast<int>(size)});
    }
    static sg::StateGraph<Conversation> graph(std::size_t size) {
        sg::StateGraph<Conversation> graph;
        graph
            .addNode("say",
                     [](const Conversation& s) -> sg::Update<Conversation> {
                         return {sg::add(&Conversation::messages, messageOf(static_cast<std::size_t>(s.n))),
                                 sg::set(&Conversation::n, s.n + 1)};
                     })
            .addEdge(sg::START, "say")
            .addConditionalEdges(
                "say", [size](const Conversation& s) { return s.n < static_cast<int>(size) ? "say" : sg::END; });
        return graph;
    }

    FreshSaver fresh;
    sg::CompiledGraph<Conversation> app;
};

/// One saver for all cases that do not change it. The first case creates it, and it is destroyed with the cases.
using Shared = std::shared_ptr<std::unique_ptr<Stored>>;
Stored& made(const Shared& shared, Store store, std::size_t size) {
    if (!*shared) *shared = std::make_unique<Stored>(store, size);
    return **shared;
}

void getState(benchmark::State& state, const Stored& stored, std::size_t size) {
    const auto& app = stored.app;
    for (auto _ : state) {
        const auto snapshot = app.getState({.thread_id = "t"});
        if (snapshot.values.messages.size() != size) state.SkipWithError("wrong result");
    }
}

/// Reads and decodes the same messages, encoded with the same codec, from one value of a database.
void readOneValue(benchmark::State& state, Store store, std::size_t size) {
    std::vector<std::string> messages;
    for (std::size_t i = 0; i < size; ++i) messages.push_back(messageOf(i));
    std::string encoded;
    sg::Encoder encoder(encoded);
    sg::Codec<std::vector<std::string>>::encode(encoder, messages);
    std::unique_ptr<BareRocksDB> bare;
    if (store == Store::rocksdb) {
        bare = std::make_unique<BareRocksDB>();
        bare->write("value", encoded);
    }
    for (auto _ : state) {
        std::vector<std::string> read;
        const std::string bytes = bare ? bare->read("value") : encoded;
        sg::Decoder decoder(bytes);
        sg::Codec<std::vector<std::string>>::decode(decoder, read);
        if (read.size() != size) state.SkipWithError("wrong result");
    }
}

void history(benchmark::State& state, const Stored& stored, bool values, std::size_t limit) {
    const auto& app = stored.app;
    for (auto _ : state) {
        std::size_t count = 0;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"}, {.limit = limit, .values = values})) {
            count += snapshot.config.checkpoint_id == sg::CheckpointId() ? 0 : 1;
        }
        if (count != limit) state.SkipWithError("wrong result");
    }
}

/// Returns the id of the checkpoint in the middle.
sg::CheckpointId middleOf(const sg::CompiledGraph<Conversation>& app, std::size_t size) {
    sg::CheckpointId id;
    for (const auto& snapshot : app.getStateHistory({.thread_id = "t"}, {.limit = size / 2, .values = false}))
        id = snapshot.config.checkpoint_id;
    return id;
}

/// Forks the checkpoint in the middle of the thread: reads it and creates a commit.
void fork(benchmark::State& state, Store store, std::size_t size) {
    const Stored stored(store, size);
    const auto middle = middleOf(stored.app, size);
    for (auto _ : state) {
        const auto config = stored.app.updateState({.thread_id = "t", .checkpoint_id = middle},
                                                   {sg::set(&Conversation::n, 7)}, {.as_node = "say"});
        if (config.checkpoint_id == middle) state.SkipWithError("wrong result");
    }
}

void updateState(benchmark::State& state, Store store, std::size_t size) {
    const Stored stored(store, size);
    for (auto _ : state) {
        stored.app.updateState({.thread_id = "t"}, {sg::set(&Conversation::n, static_cast<int>(size))},
                               {.as_node = "say"});
    }
}

/// The case of the peers: a thread with a thousand supersteps and a small state.
void updateSmallState(benchmark::State& state, Store store) {
    const FreshSaver fresh(store);
    struct Small {
        int n = 0;
        static constexpr auto channels() { return sg::channels(sg::channel("n", &Small::n)); }
    };
    sg::StateGraph<Small> graph;
    graph.addNode("a", [](const Small& s) -> sg::Update<Small> { return {sg::set(&Small::n, s.n + 1)}; })
        .addEdge(sg::START, "a")
        .addConditionalEdges("a", [](const Small& s) { return s.n < 1000 ? "a" : sg::END; });
    const auto app = graph.compile({.checkpointer = fresh.saver});
    app.invoke({}, {.thread_id = "t", .recursion_limit = 1000});
    for (auto _ : state) app.updateState({.thread_id = "t"}, {sg::set(&Small::n, 1000)}, {.as_node = "a"});
}

}  // namespace

void registerCases() {
    const std::vector<std::size_t> sizes =
        quick() ? std::vector<std::size_t>{100, 1000} : std::vector<std::size_t>{100, 1000, 10'000};
    for (const Store store : {Store::memory, Store::rocksdb}) {
        const std::string on = toString(store);
        for (const std::size_t size : sizes) {
            const auto shared = std::make_shared<std::unique_ptr<Stored>>();
            add("history/get_state_" + on, size,
                [=](benchmark::State& state) { getState(state, made(shared, store, size), size); });
            addFloor("history/get_state_" + on, size,
                     [=](benchmark::State& state) { readOneValue(state, store, size); });
            add("history/headers_" + on, size,
                [=](benchmark::State& state) { history(state, made(shared, store, size), false, size); });
            add("history/newest_10_values_" + on, size,
                [=](benchmark::State& state) { history(state, made(shared, store, size), true, 10); });
            add("history/fork_" + on, size, [=](benchmark::State& state) { fork(state, store, size); });
            add("history/update_" + on, size, [=](benchmark::State& state) { updateState(state, store, size); });
            // Each checkpoint has the whole state, so the sum grows with the square.
            if (size <= 1000)
                add("history/all_values_" + on, size,
                    [=](benchmark::State& state) { history(state, made(shared, store, size), true, size); });
        }
        add("history/update_state_" + on, [=](benchmark::State& state) { updateSmallState(state, store); });
    }
}

}  // namespace bench
