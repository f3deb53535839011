#include <stategraph/encrypted_saver.hpp>

#include <string_view>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/encryption.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/savers.hpp"

// Graphs on an encrypting saver.
using namespace encryption;
using graphs::Strings;

namespace {

struct State {
    Strings bar = {};

    static constexpr auto channels() { return sg::channels(sg::channel("SECRET-channel", &State::bar, sg::append)); }
    bool operator==(const State&) const = default;
};
using Graph = sg::StateGraph<State>;
using App = sg::CompiledGraph<State>;
using Update = sg::Update<State>;

Update bar(std::string text) { return {sg::add(&State::bar, std::move(text))}; }
auto appends(std::string text) {
    return [text](const State&) -> Update { return bar(text); };
}

// Each must occur in what a run stores, and must not occur in what is stored encrypted. They are long, because three
// bytes are found in ciphertext by chance: "bar" was, in one of some hundred runs.
const std::vector<std::string> secrets = {"SECRET-state", "SECRET-metadata", "SECRET-question", "SECRET-answer",
                                          "SECRET-node",  "SECRET-inner",    "SECRET-error",    "SECRET-channel"};

// SECRET-node -> sub (SECRET-inner, which asks) beside failing -> last
App makeApp(const std::shared_ptr<sg::BaseCheckpointSaver>& saver, const bool& fails) {
    Graph inner;
    inner.addNode("SECRET-inner", [](const State&, sg::Runtime& runtime) -> Update {
        return bar(sg::interrupt<std::string>(runtime, "SECRET-question"));
    });
    inner.addEdge(sg::START, "SECRET-inner");
    Graph graph;
    graph.addNode("SECRET-node", appends("SECRET-state"));
    graph.addNode(
        "sub", inner.compile(), [](const State&) -> Update { return {}; },
        [](const State& state) -> Update { return {sg::add(&State::bar, state.bar)}; });
    graph.addNode("failing", [&fails](const State&) -> Update {
        if (fails) throw std::runtime_error("SECRET-error");
        return bar("recovered");
    });
    graph.addNode("last", appends("last"));
    graph.addEdge(sg::START, "SECRET-node").addEdge("SECRET-node", "sub").addEdge("SECRET-node", "failing");
    graph.addEdge({"sub", "failing"}, "last");
    return graph.compile({.checkpointer = saver});
}

// Runs it until one node has failed and another one asks.
void start(const App& app) {
    CHECK_THROWS_AS(app.invoke(bar("i"), {.thread_id = "t", .metadata = {{"tenant", "SECRET-metadata"}}}),
                    sg::NodeError);
}

// The secrets that occur in the bytes of the rows.
std::vector<std::string> found(sg::BaseCheckpointSaver& inner) {
    std::string bytes;
    for (const auto& row : inner.list({.with_writes = true})) {
        bytes += row.bytes;
        for (const auto& write : row.writes) bytes += write.bytes;
    }
    std::vector<std::string> there;
    for (const auto& secret : secrets) {
        if (has(bytes, secret)) there.push_back(secret);
    }
    return there;
}

}  // namespace

TEST_CASE("a run that fails and asks, in a subgraph, continues in another process, all of it encrypted") {
    savers::onEach([](savers::Store& store) {
        bool fails = true;
        {
            const App app = makeApp(std::make_shared<sg::EncryptedSaver>(store.open(), key("k")), fails);
            start(app);
        }
        CHECK(found(*store.open()).empty());
        {
            const App app = makeApp(std::make_shared<sg::EncryptedSaver>(store.open(), key("k")), fails);
            const auto waiting = app.getState({.thread_id = "t"});
            REQUIRE(waiting.interrupts().size() == 1);
            CHECK(waiting.interrupts().at(0).value.as<std::string>() == "SECRET-question");
            fails = false;
            const auto result = app.invoke(sg::Command<>{.resume = "SECRET-answer"}, {.thread_id = "t"});
            CHECK((result.status == sg::Status::done));
            CHECK(result.values.bar == Strings{"i", "SECRET-state", "recovered", "SECRET-answer", "last"});
        }
        CHECK(found(*store.open()).empty());

        const auto saver = std::make_shared<sg::EncryptedSaver>(store.open(), key("k"));
        const App app = makeApp(saver, fails);
        std::vector<std::size_t> sizes;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"}))
            sizes.push_back(snapshot.values.bar.size());
        CHECK(sizes == std::vector<std::size_t>{5, 4, 2, 1, 0});
        // The copy is an ordinary thread.
        saver->copyThread("t", "copy");
        CHECK(app.getState({.thread_id = "copy"}).values.bar.size() == 5);
    });
}

TEST_CASE("the same run in the clear shows every secret, so the search for them means something") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    bool fails = true;
    const App app = makeApp(saver, fails);
    start(app);
    fails = false;
    app.invoke(sg::Command<>{.resume = "SECRET-answer"}, {.thread_id = "t"});
    fails = true;
    start(app);
    CHECK(found(*saver) == secrets);
}

TEST_CASE("a graph that is opened with a wrong key says so, and runs nothing") {
    savers::onEach([](savers::Store& store) {
        bool fails = true;
        start(makeApp(std::make_shared<sg::EncryptedSaver>(store.open(), key("k", 1)), fails));
        fails = false;
        const auto refuses = [&](const sg::EncryptionOptions& options, std::string_view why) {
            const App app = makeApp(std::make_shared<sg::EncryptedSaver>(store.open(), options), fails);
            for (const std::string& said :
                 {errorOf([&] { app.getState({.thread_id = "t"}); }),
                  errorOf([&] { app.invoke(sg::Command<>{.resume = "SECRET-answer"}, {.thread_id = "t"}); }),
                  errorOf([&] { app.invoke(bar("i"), {.thread_id = "t"}); })}) {
                CAPTURE(said);
                CHECK(has(said, "CorruptCheckpointError"));
                CHECK(has(said, "thread 't'"));
                CHECK(has(said, why));
            }
        };
        refuses(key("k", 2), "authentication failed");
        refuses(key("other", 1), "the key 'k', which find_key does not know");
        CHECK(has(errorOf([&] { makeApp(store.open(), fails).getState({.thread_id = "t"}); }),
                  "it is encrypted; read it through the EncryptedSaver"));

        // The right key still works: the others stored nothing.
        const App app = makeApp(std::make_shared<sg::EncryptedSaver>(store.open(), key("k", 1)), fails);
        CHECK(app.invoke(sg::Command<>{.resume = "SECRET-answer"}, {.thread_id = "t"}).values.bar.size() == 5);
    });
}
