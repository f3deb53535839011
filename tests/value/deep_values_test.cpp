#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/savers.hpp"

// A value that is nested too deeply to be read again is refused when it is written, in every place; the thread and the
// store stay unchanged.
namespace sg = stategraph;
namespace json = boost::json;

namespace {

using Update = sg::Update<sg::JsonState>;
constexpr int most = sg::value_depth_max;

json::value nested(int levels) {
    json::value value = 1;
    for (int i = 0; i < levels; ++i) {
        json::array around;
        around.push_back(std::move(value));
        value = std::move(around);
    }
    return value;
}

int levelsOf(const json::value& value) {
    const json::value* at = &value;
    int levels = 0;
    for (; at->is_array(); ++levels) at = &at->get_array().front();
    return levels;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

enum class Place { write, append, reduce, question, send, sends_of_two, effect, beside, list };

/// The node `b` uses a value with this many levels; `n` counts its executions.
auto makeApp(Place place, int levels, const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::JsonSchema schema;
    schema.channel("x")
        .channel("n", sg::JsonReducer::sum())
        .channel("list", sg::JsonReducer::append())
        .channel("map", sg::JsonReducer::merge())
        .channel("folded",
                 sg::JsonReducer::binary(
                     "wrap", [levels](const json::value&, const json::value&) { return nested(levels); }, nullptr));
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("b", [place, levels](const sg::JsonState& state, sg::Runtime& runtime) -> Update {
        if (state.has("x") && state["x"] == "flat") return {sg::write("n", 1)};
        switch (place) {
            case Place::question:
                (void)sg::interrupt(runtime, nested(levels));
                break;
            case Place::effect:
                (void)runtime.once("k", [&] { return nested(levels); });
                break;
            case Place::write:
            case Place::beside:
                return {sg::write("x", nested(levels))};
            case Place::append:
                return {sg::write("list", json::array{nested(levels - 1)})};
            case Place::list:
                return {sg::write("map", json::object{{"k", nested(levels - 1)}})};
            case Place::reduce:
                return {sg::write("folded", 1)};
            default:
                break;
        }
        return {sg::write("n", 1)};
    });
    graph.addNode("each", [](const json::value& payload) -> Update { return {sg::write("x", payload)}; });
    graph.addEdge(sg::START, "b").addEdge("each", sg::END);
    if (place == Place::beside || place == Place::sends_of_two) {
        graph.addNode("beside", [](const sg::JsonState&) -> Update { return {sg::write("n", 1)}; });
        graph.addEdge(sg::START, "beside").addEdge("beside", sg::END);
    }
    graph.addConditionalEdges("b",
                              [place, levels](const sg::JsonState& state) {
                                  sg::Targets targets;
                                  const bool sends = place == Place::send || place == Place::sends_of_two;
                                  if (sends && !(state.has("x") && state["x"] == "flat"))
                                      targets.add(sg::Target(sg::Send("each", nested(levels))));
                                  return targets;
                              },
                              {"each"});
    return graph.compile({.checkpointer = saver});
}

const std::vector<std::pair<Place, const char*>> places = {
    {Place::write, "channel 'x'"},  {Place::beside, "channel 'x'"},       {Place::append, "channel 'list'"},
    {Place::list, "channel 'map'"}, {Place::reduce, "channel 'folded'"},  {Place::question, "node 'b'"},
    {Place::effect, "node 'b'"},    {Place::send, "Send to node 'each'"}, {Place::sends_of_two, "Send to node 'each'"},
};

/// Checks that the thread can be read and run, and that the whole store can be listed.
template <class App>
void checkUsable(const App& app, sg::BaseCheckpointSaver& saver, const std::string& thread) {
    CHECK_NOTHROW(app.getState({.thread_id = thread}));
    CHECK_NOTHROW([&] {
        for (const auto& past : app.getStateHistory({.thread_id = thread})) (void)past;
    }());
    for (const auto& found : saver.unfinishedThreads()) CHECK((found.reason != sg::Status::damaged));
    CHECK(saver.stats().damaged.empty());
    std::vector<sg::DamagedThread> damaged;
    CHECK_NOTHROW(saver.prune({.keep_last = 100, .damaged = &damaged}));
    CHECK(damaged.empty());
    const auto after = app.invoke(Update{sg::write("x", "flat")}, {.thread_id = thread});
    CHECK((after.status == sg::Status::done));
    CHECK(app.getState({.thread_id = thread}).values["n"].as_int64() >= 1);
}

}  // namespace

TEST_CASE("a value nested too deep is refused where it is written, and the thread stays usable") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        for (const auto& [place, part] : places) {
            const auto app = makeApp(place, most + 1, saver);
            for (const drivers::Driver& driver : drivers::all()) {
                CAPTURE(driver.name);
                CAPTURE(part);
                const std::string thread = driver.name + std::to_string(static_cast<int>(place));
                const auto outcome = driver.run(app, Update{sg::write("n", 0)}, {.thread_id = thread});
                REQUIRE(outcome.failed());
                CAPTURE(outcome.what());
                CHECK(has(outcome.what(), part));
                CHECK(has(outcome.what(), "nested deeper than 256 levels"));
                checkUsable(app, *saver, thread);
            }
        }
    });
}

TEST_CASE("what is nested as deep as may be is stored and read back, wherever it is written") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        for (const auto& [place, part] : places) {
            CAPTURE(part);
            const auto app = makeApp(place, most, saver);
            const std::string thread = std::to_string(static_cast<int>(place));
            const auto result = app.invoke(Update{sg::write("n", 0)}, {.thread_id = thread});
            CHECK((result.status == (place == Place::question ? sg::Status::interrupted : sg::Status::done)));
            const auto state = app.getState({.thread_id = thread});
            if (place == Place::write || place == Place::send) CHECK(levelsOf(state.values["x"]) == most);
            if (place == Place::append) CHECK(levelsOf(state.values["list"]) == most);
            if (place == Place::reduce) CHECK(levelsOf(state.values["folded"]) == most);
            if (place == Place::question) {
                REQUIRE(state.interrupts().size() == 1);
                CHECK(levelsOf(sg::toJsonValue(state.interrupts()[0].value)) == most);
                // The answer may be equally deep.
                (void)app.invoke(sg::Command<sg::JsonState>{.resume = nested(most)}, {.thread_id = thread});
            }
            CHECK_FALSE(state.valuesAsJson().empty());
            (void)saver->prune({.thread_id = thread, .keep_last = 1});
            checkUsable(app, *saver, thread);
        }
    });
}

TEST_CASE("an input, an update, an answer, metadata and an item that are nested too deep are refused") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = makeApp(Place::question, 1, saver);
        const sg::RunConfig config{.thread_id = "t"};
        const auto refused = [&](const char* part, auto call) {
            std::string said;
            try {
                call();
            } catch (const sg::Error& error) {
                said = error.what();
            }
            CAPTURE(said);
            CHECK(has(said, "nested deeper than 256 levels"));
            CHECK(has(said, part));
        };
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            refused("channel 'x'", [&] {
                (void)driver.run(app, Update{sg::write("x", nested(most + 1))}, {.thread_id = driver.name}).get();
            });
        }
        CHECK((app.invoke(Update{sg::write("n", 0)}, config).status == sg::Status::interrupted));
        refused("channel 'x'", [&] { app.invoke(Update{sg::write("x", nested(most + 1))}, config); });
        refused("channel 'x'",
                [&] { app.updateState({.thread_id = "t"}, {sg::write("x", nested(most + 1))}, {.as_node = "b"}); });
        refused("value", [&] { app.invoke(sg::Command<sg::JsonState>{.resume = nested(most + 1)}, config); });
        refused("value", [&] {
            app.invoke(sg::RESUME, {.thread_id = "t", .metadata = sg::Metadata{{"m", nested(most + 1)}}});
        });
        checkUsable(app, *saver, "t");
    });
    sg::MemoryStore items;
    CHECK_THROWS_AS(items.put({"a"}, "k", json::object{{"v", nested(most)}}), sg::WrongTypeError);
    items.put({"a"}, "k", json::object{{"v", nested(most - 1)}});
    CHECK(items.search({}).size() == 1);
}

TEST_CASE("with durability exit a deep value is refused when the run is stored") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = makeApp(Place::write, most + 1, saver);
        std::string said;
        try {
            app.invoke(Update{sg::write("n", 0)}, {.thread_id = "t", .durability = sg::Durability::exit});
        } catch (const sg::Error& error) {
            said = error.what();
        }
        CHECK(has(said, "channel 'x'"));
        checkUsable(app, *saver, "t");
    });
}

TEST_CASE("without a saver a value may be as deep as memory allows") {
    const auto app = makeApp(Place::write, 400, nullptr);
    CHECK(levelsOf(app.invoke(Update{sg::write("n", 0)}).values["x"]) == 400);
}

namespace {

struct Reply {
    std::string text = {};
    std::vector<Reply> replies = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("text", &Reply::text), sg::field("replies", &Reply::replies));
    }
};
struct Talk {
    Reply root = {};
    int replies = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel("root", &Talk::root), sg::channel("replies", &Talk::replies));
    }
};

int depthOf(const Reply& reply) { return reply.replies.empty() ? 0 : 1 + depthOf(reply.replies.front()); }

}  // namespace

TEST_CASE("a struct that contains itself is stored as deep as its arrays and maps may be, and refused below") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        sg::StateGraph<Talk> graph;
        graph.addNode("grow", [](const Talk& talk) -> sg::Update<Talk> {
            Reply root;
            Reply* at = &root;
            for (int i = 0; i < talk.replies; ++i) {
                at->replies.push_back({"re", {}});
                at = &at->replies.front();
            }
            return {sg::set(&Talk::root, root)};
        });
        graph.addEdge(sg::START, "grow").addEdge("grow", sg::END);
        const auto app = graph.compile({.checkpointer = saver});
        app.invoke({sg::set(&Talk::replies, 127)}, {.thread_id = "t"});
        CHECK(depthOf(app.getState({.thread_id = "t"}).values.root) == 127);
        CHECK_THROWS_WITH_AS(app.invoke({sg::set(&Talk::replies, 128)}, {.thread_id = "t"}),
                             doctest::Contains("channel 'root'"), sg::InvalidUpdateError);
        CHECK(depthOf(app.getState({.thread_id = "t"}).values.root) == 127);
        app.invoke({sg::set(&Talk::replies, 3)}, {.thread_id = "t"});
        CHECK(depthOf(app.getState({.thread_id = "t"}).values.root) == 3);
        CHECK(saver->stats().damaged.empty());
    });
}

TEST_CASE("json text may be as deep as a value") {
    const std::string text = sg::fromJson(nested(most)).toJson();
    CHECK(sg::parseJson(text).toJson() == text);
    CHECK_THROWS_AS(sg::parseJson("[" + text + "]"), sg::InvalidArgumentError);
    CHECK_THROWS_AS((void)sg::fromJson(nested(2000)), sg::WrongTypeError);
}
