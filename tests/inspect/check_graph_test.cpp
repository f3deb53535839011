#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/graph_description.hpp>
#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/inspect/command_run.hpp"
#include "tests/support/temporary_folder.hpp"

// `check --graph`: what the description of a graph says about its channels, compared with stored threads.
namespace sg = stategraph;
using inspected::CommandRun;
using sg::inspect::Exit;

namespace {

struct Item {
    std::string name = {};
    int price = 0;
    static constexpr auto fields() { return sg::fields<&Item::name, &Item::price>(); }
};
struct Old {
    std::string title = {};
    int total = 0;
    std::vector<std::string> notes = {};
    std::optional<int> perhaps = {};
    bool paid = false;
    double rate = 1.5;
    Item item = {};
    std::map<std::string, int> counts = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Old::title>(), sg::channel<&Old::total>(sg::sum),
                            sg::channel<&Old::notes>(sg::append), sg::channel<&Old::perhaps>(),
                            sg::channel<&Old::paid>(), sg::channel<&Old::rate>(), sg::channel<&Old::item>(),
                            sg::channel<&Old::counts>());
    }
};
/// "total" is another type of the same kind, "title" has another name, and "notes" another kind.
struct New {
    std::string heading = {};
    double total = 0;
    std::string notes = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("heading", &New::heading, sg::formerly("title")), sg::channel<&New::total>(),
                            sg::channel<&New::notes>());
    }
};
/// "title" is gone.
struct Short {
    int total = 0;
    std::vector<std::string> notes = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Short::total>(sg::sum), sg::channel<&Short::notes>(sg::append));
    }
};

template <class S>
sg::CompiledGraph<S> app(const std::shared_ptr<sg::BaseCheckpointSaver>& saver = nullptr) {
    sg::StateGraph<S> graph;
    graph.addNode("ask", [](const S&, sg::Runtime& runtime) -> sg::Update<S> {
        (void)sg::interrupt<std::string>(runtime, "on?");
        return {};
    });
    graph.addEdge(sg::START, "ask");
    return graph.compile({.checkpointer = saver});
}

struct Database {
    Database() {
        app<Old>(saver).invoke(sg::Update<Old>{sg::set<&Old::title>(std::string("t")), sg::add<&Old::total>(3),
                                               sg::add<&Old::notes>({std::string("n")}), sg::set<&Old::rate>(2.0),
                                               sg::set<&Old::item>(Item{"tea", 2})},
                               {.thread_id = "asks"});
    }
    CommandRun check(const std::string& description, std::vector<std::string> more = {}) const {
        const std::string file = (folder / "graph.json").string();
        std::ofstream(file, std::ios::trunc) << description;
        more.insert(more.begin(), {"check", "--graph", file});
        return inspected::runCommand(more, {.open = [this](const std::string&, bool) { return saver; }});
    }
    template <class S>
    CommandRun check(std::vector<std::string> more = {}) const {
        return check(sg::toJson(sg::describeGraphs(app<S>())), std::move(more));
    }

    TemporaryFolder folder;
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
};

}  // namespace

TEST_CASE("a description says what channels hold and how they were called, and reads earlier descriptions") {
    const sg::GraphDescription old = sg::describeGraph(app<Old>());
    const auto holds = [&](const std::string& channel) { return old.findChannel(channel)->holds; };
    CHECK(holds("title") == "text");
    CHECK(holds("total") == "number");
    CHECK(holds("notes") == "list");
    CHECK(holds("perhaps") == "");
    CHECK(holds("paid") == "boolean");
    CHECK(holds("rate") == "number");
    CHECK(holds("item") == "map");
    CHECK(holds("counts") == "");
    const sg::GraphDescription renamed = sg::describeGraph(app<New>());
    REQUIRE(renamed.findChannel("title") != nullptr);
    CHECK(renamed.findChannel("title")->name == "heading");
    CHECK(renamed.findChannel("nothing") == nullptr);
    const auto earlier = sg::fromJson<sg::DescribedChannel>(R"({"name":"n","kind":"last_value","reducer":""})");
    CHECK(earlier.holds.empty());
    CHECK(earlier.former_names.empty());
    CHECK(sg::fromJson<sg::GraphDescription>(sg::toJson(old)).findChannel("item")->holds == "map");
}

TEST_CASE("channels of a state as JSON hold any kind") {
    sg::JsonSchema schema;
    schema.channel("n").channel("all", sg::sum).channel("list", sg::JsonReducer::append());
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode("a", [](const sg::JsonState&) -> sg::Update<sg::JsonState> { return {}; }).addEdge(sg::START, "a");
    for (const auto& channel : sg::describeGraph(graph.compile()).channels) CHECK(channel.holds.empty());
}

TEST_CASE("check --graph finds channels of another kind, which a run refuses too") {
    const Database database;
    CHECK(database.check<Old>().exit == Exit::done);
    const CommandRun found = database.check<New>();
    CHECK(found.exit == Exit::no);
    CHECK(found.has("asks  channel 'notes' is stored as a list, and the graph has a text of that name"));
    CHECK(database.check<New>({"--json"}).has(R"("channel":"notes")"));
    CHECK_THROWS_AS(app<New>(database.saver).invoke(sg::RESUME, {.thread_id = "asks"}), sg::CorruptCheckpointError);
}

TEST_CASE("a renamed channel is not lost, and a removed one is found only if it is asked for") {
    const Database database;
    CHECK(database.check<Short>().exit == Exit::done);
    const CommandRun lost = database.check<Short>({"--lost-channels"});
    CHECK(lost.exit == Exit::no);
    CHECK(lost.has("channel 'item' is stored, and the graph has none of that name"));
    CHECK(database.check<Old>({"--lost-channels"}).exit == Exit::done);
    CHECK_FALSE(database.check<New>({"--lost-channels"}).has("'title'"));
    CHECK(app<Short>(database.saver).invoke(sg::RESUME, {.thread_id = "asks"}).values.total == 3);
    const CommandRun alone = inspected::runCommand({"check", "--lost-channels"},
                                                   {.open = [&](const std::string&, bool) { return database.saver; }});
    CHECK(alone.exit == Exit::usage);
}

TEST_CASE("a thread where nothing is due is not checked, and a description without kinds finds none") {
    Database database;
    app<Old>(database.saver).invoke(sg::resume(std::string("yes")), {.thread_id = "asks"});
    CHECK(database.check<New>().exit == Exit::done);
    const Database open;
    auto earlier = sg::describeGraphs(app<New>());
    for (auto& channel : earlier.front().channels) channel.holds.clear();
    CHECK(open.check(sg::toJson(earlier)).exit == Exit::done);
}
