#include <map>

#include <doctest/doctest.h>

#include <stategraph/causes.hpp>
#include <stategraph/graph_description.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/savers.hpp"

// Why a task was due, as the log shows it.
namespace sg = stategraph;
using namespace inspected;

namespace {

Update about(std::string topic) { return {sg::set(&Order::topic, std::move(topic))}; }

// "kind from,from#index + …" for each task of a checkpoint.
std::map<std::string, std::string> told(sg::BaseCheckpointSaver& saver, const sg::Config& config) {
    std::map<std::string, std::string> all;
    for (const auto& task : sg::readCauses(saver, config)) {
        std::string text;
        for (const auto& cause : task.causes) {
            if (!text.empty()) text += " + ";
            text += sg::toString(cause.kind);
            for (std::size_t i = 0; i < cause.from.size(); ++i) text += (i == 0 ? " " : ",") + cause.from[i].name;
            if (cause.index) text += "#" + std::to_string(*cause.index);
        }
        all[task.path.starts_with("pull:") ? task.name : task.name + task.path.substr(task.path.size() - 1)] = text;
    }
    return all;
}

std::vector<sg::Config> pastOf(const App& app, const std::string& thread) {
    std::vector<sg::Config> configs;
    for (const auto& each : app.getStateHistory({.thread_id = thread}, {.values = false}))
        configs.insert(configs.begin(), each.config);
    return configs;
}

}  // namespace

TEST_CASE("edges, routers' Sends, joins, gotos and deferrals are distinguished, in every driver") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = graph().compile({.checkpointer = saver});
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto outcome = driver.run(app, about("tea"), {.thread_id = driver.name});
            REQUIRE(outcome.what() == "");
            const auto past = pastOf(app, driver.name);
            REQUIRE(past.size() >= 4);
            using Told = std::map<std::string, std::string>;
            CHECK(told(*saver, past[0]) == Told{{"__start__", "input"}});
            CHECK(told(*saver, past[1]) == Told{{"plan", "edge __start__"}});
            CHECK(told(*saver, past[2]) == Told{{"left", "edge plan"},
                                                {"right", "edge plan"},
                                                {"price0", "send plan#0"},
                                                {"price1", "send plan#1"}});
            CHECK(told(*saver, past[3]) == Told{{"gather", "join left,right"}});
            CHECK(told(*saver, past[4]) == Told{{"ask", "goto gather"}});
            driver.run(app, sg::resume(std::string("yes")), {.thread_id = driver.name});
            CHECK(told(*saver, pastOf(app, driver.name)[5]) == Told{{"last", "released"}});
        }
    });
}

TEST_CASE("an edit, a fork and a Command from outside are causes") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const App app = graph().compile({.checkpointer = saver});
        app.invoke(about("tea"), {.thread_id = "t"});
        const auto past = pastOf(app, "t");
        const sg::Config edited =
            app.updateState(past[2], Update{sg::add(&Order::notes, std::string("edited"))}, {.as_node = "plan"});
        CHECK(told(*saver, edited)["left"] == "edit plan");
        CHECK(told(*saver, edited)["price1"] == "edit plan");
        app.invoke(sg::RESUME, past[3]);
        std::map<std::string, std::string> forked;
        for (const auto& config : pastOf(app, "t")) {
            const auto found = told(*saver, config);
            if (found.contains("gather") && config.checkpoint_id != past[3].checkpoint_id) forked = found;
        }
        CHECK(forked["gather"] == "fork + join left,right");
    });
}

TEST_CASE("without a description the log says what it can") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph().compile({.checkpointer = saver});
    app.invoke(about("tea"), {.thread_id = "t"});
    // A thread as an earlier version of the library stored it.
    sg::MemorySaver old;
    sg::Config config{.thread_id = "t"};
    for (auto& listed : [&] {
             auto rows = saver->list({.thread_id = "t", .with_writes = true});
             std::reverse(rows.begin(), rows.end());
             return rows;
         }()) {
        const auto links = sg::readLinks({"t", "", listed.id}, listed.bytes);
        std::vector<sg::WriteRow> writes;
        for (const auto& write : listed.writes) writes.push_back({listed.id, write.path, write.bytes});
        const sg::CommitRow commit{listed.id, links.parent, links.base, listed.bytes};
        old.put({.log = {"t", ""}, .expected_head = config.checkpoint_id, .commits = {&commit, 1}, .writes = writes});
        config.checkpoint_id = listed.id;
    }
    const auto past = pastOf(app, "t");
    CHECK(told(old, past[1])["plan"] == "unknown __start__");
    CHECK(told(old, past[2])["left"] == "unknown plan");
    CHECK(told(old, past[2])["price1"] == "send plan#1");
    CHECK(told(old, past[3])["gather"] == "join left,right");
    CHECK(told(old, past[4])["ask"] == "unknown gather");
}

TEST_CASE("where a commit covers several supersteps, causes are what may be said") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph().compile({.checkpointer = saver});
    app.invoke(about("tea"), {.thread_id = "t", .durability = sg::Durability::exit});
    const auto causes = sg::readCauses(*saver, {.thread_id = "t"});
    REQUIRE(causes.size() == 1);
    CHECK(causes[0].name == "ask");
    CHECK((causes[0].causes[0].kind == sg::CauseKind::unknown));
    CHECK(sg::readCauses(*saver, {.thread_id = "nobody"}).empty());
    CHECK_THROWS_AS(sg::readCauses(*saver, {}), sg::InvalidArgumentError);
}
