#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/checkpoint_changes.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/memory_saver.hpp>

#include "inspect/run_chart.hpp"
#include "inspect/supersteps.hpp"
#include "inspect/views.hpp"
#include "tests/inspect/command_run.hpp"
#include "tests/inspect/inspected_api.hpp"
#include "tests/support/inspected.hpp"

// A log as its supersteps, and the chart of a run.
namespace sg = stategraph;
using namespace inspected;
using sg::inspect::ChartBar;
using sg::inspect::Exit;
using sg::inspect::Superstep;
using sg::inspect::SuperstepQuery;

namespace supersteps {

const sg::Config log{.thread_id = "t"};

std::vector<std::string> namesOf(const std::vector<sg::inspect::StepTask>& tasks) {
    std::vector<std::string> names;
    for (const auto& each : tasks) names.push_back(viewOf(each).name);
    return names;
}

std::vector<std::string> wroteOf(const std::vector<sg::inspect::Written>& list) {
    std::vector<std::string> names;
    for (const auto& each : list) names.push_back(each.channel);
    return names;
}

std::vector<std::string> shown(const std::vector<Superstep>& rows) {
    std::vector<std::string> texts;
    for (const Superstep& row : rows) texts.push_back(sg::toJson(viewOf(row)));
    return texts;
}

std::vector<Superstep> select(sg::BaseCheckpointSaver& saver, SuperstepQuery query) {
    return sg::inspect::readSupersteps(saver, log, query).rows;
}

/// A node that fails twice before it works, then one that fails for good.
struct Failing {
    Failing() {
        Graph graph;
        graph
            .addNode("flaky",
                     [this](const Order&) -> Update {
                         if (++calls < 3) throw std::runtime_error("the Line is busy");
                         return {sg::add(&Order::total, 1)};
                     },
                     {.retry = {.max_attempts = 3, .initial_interval = {}, .jitter = false}})
            .addNode("broken", [](const Order&) -> Update { throw std::runtime_error("no stock"); })
            .addEdge(sg::START, "flaky")
            .addEdge("flaky", "broken");
        CHECK_THROWS_AS(graph.compile({.checkpointer = saver})
                            .invoke(Update{sg::set(&Order::topic, std::string("x"))}, {.thread_id = "t"}),
                        sg::NodeError);
    }
    int calls = 0;
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
};

struct Asking {
    Asking() { app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"}); }
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    App app = graph().compile({.checkpointer = saver});
};

}  // namespace supersteps

TEST_CASE(
    "a row of a log has what ran with each task's time, what it wrote by channel, and apart from that what is due") {
    const supersteps::Asking program;
    const auto rows = supersteps::select(*program.saver, {});
    REQUIRE(rows.size() >= 4);
    CHECK(supersteps::namesOf(rows[0].ran) == std::vector<std::string>{"gather"});
    CHECK(supersteps::namesOf(rows[0].due) == std::vector<std::string>{"ask"});
    CHECK(viewOf(rows[0].due.front()).state == "asks");
    CHECK(rows[0].entry.next == std::vector<std::string>{"ask"});
    CHECK(supersteps::wroteOf(rows[0].wrote) == std::vector<std::string>{"notes"});
    CHECK(supersteps::namesOf(rows[1].ran) == std::vector<std::string>{"left", "right", "price #0", "price #1"});
    CHECK(supersteps::wroteOf(rows[1].wrote) == std::vector<std::string>{"notes", "total"});
    for (const auto& each : rows[1].ran) {
        CHECK(each.task.took.has_value());
        CHECK(each.task.finished);
        CHECK(supersteps::wroteOf(each.wrote).size() == 1);
    }
    CHECK(rows[1].due.empty());  // the superstep above ran it
    CHECK((rows.back().entry.source == sg::Source::input));
    CHECK(rows.back().ran.empty());
    CHECK(supersteps::wroteOf(rows.back().wrote) == std::vector<std::string>{"topic"});
    const auto text = runCommand({"log", "t"}, {.open = [&](const std::string&, bool) { return program.saver; }});
    CHECK(text.has("; wrote notes  → ask  ? 1\n"));
    CHECK(text.has("; wrote notes, total  → gather"));
}

TEST_CASE("blame names for each channel the tasks that the rows name") {
    const supersteps::Asking program;
    for (const char* channel : {"notes", "total"}) {
        CAPTURE(channel);
        std::map<std::int64_t, std::multiset<std::string>> blamed;
        for (const auto& entry : sg::readChannelHistory(*program.saver, supersteps::log, channel).entries) {
            for (const auto& writer : entry.writers) blamed[entry.step].insert(writer.name);
        }
        std::map<std::int64_t, std::multiset<std::string>> ran;
        for (const Superstep& row : supersteps::select(*program.saver, {})) {
            for (const auto& each : row.ran) {
                if (std::ranges::count(each.wrote, channel, &sg::inspect::Written::channel) > 0)
                    ran[row.entry.step].insert(each.task.name);
            }
        }
        std::erase_if(ran, [](const auto& each) { return each.second.contains(sg::START); });
        CHECK(blamed == ran);
    }
}

TEST_CASE("a node that was renamed has its new name in rows, in charts and in blame") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph renamed;
    renamed.addNode("fetch", note("fetched"), {.stored_as = "load"}).addEdge(sg::START, "fetch");
    renamed.compile({.checkpointer = saver})
        .invoke(Update{sg::set(&Order::topic, std::string("x"))}, {.thread_id = "t"});
    const auto rows = supersteps::select(*saver, {.node = "fetch"});
    REQUIRE(rows.size() == 1);
    CHECK(supersteps::namesOf(rows.front().ran) == std::vector<std::string>{"fetch"});
    const auto all = supersteps::select(*saver, {});
    CHECK(std::ranges::count(all, std::vector<std::string>{"fetch"},
                             [](const Superstep& row) { return row.entry.next; }) == 1);
    CHECK(std::ranges::count(sg::inspect::readRunChart(*saver, supersteps::log).bars, "fetch", &ChartBar::name) == 1);
    const auto blamed = runCommand({"blame", "t", "notes"}, {.open = [&](const std::string&, bool) { return saver; }});
    CHECK(blamed.has("fetch"));
    CHECK_FALSE(blamed.has("load"));
}

TEST_CASE("pages of any size have the rows of the whole log") {
    supersteps::Asking program;
    program.app.invoke(sg::resume(std::string("yes")), {.thread_id = "t"});
    const auto whole = supersteps::shown(supersteps::select(*program.saver, {}));
    for (std::size_t limit = 1; limit < 5; ++limit) {
        CAPTURE(limit);
        std::vector<std::string> texts;
        SuperstepQuery query{.limit = limit};
        do {
            const auto page = sg::inspect::readSupersteps(*program.saver, supersteps::log, query);
            CHECK(page.rows.size() <= limit);
            for (std::string& text : supersteps::shown(page.rows)) texts.push_back(std::move(text));
            query.before = page.next;
        } while (query.before);
        CHECK(texts == whole);
    }
    for (const SuperstepQuery& least : {SuperstepQuery{.tasks_max = 1}, SuperstepQuery{.bytes_max = 1}}) {
        std::vector<std::string> texts;
        SuperstepQuery query = least;
        std::size_t requests = 0;
        do {
            const auto page = sg::inspect::readSupersteps(*program.saver, supersteps::log, query);
            for (std::string& text : supersteps::shown(page.rows)) texts.push_back(std::move(text));
            query.before = page.next;
            ++requests;
        } while (query.before);
        CHECK(requests > 2);
        CHECK(texts == whole);
    }
    // Also one that begins in the middle.
    const auto rows = supersteps::select(*program.saver, {});
    const auto from =
        supersteps::select(*program.saver, {.before = sg::inspect::justAfter(rows[2].entry.id), .limit = 2});
    CHECK(supersteps::shown(from) == std::vector<std::string>{whole[2], whole[3]});
}

TEST_CASE("a row lists of many tasks first those that failed, then those that ask, and says how many they are") {
    Superstep row;
    for (int i = 0; i < 100; ++i) {
        sg::TaskSnapshot task;
        task.name = "task " + std::to_string(i);
        task.finished = i < 60;
        if (i == 90) task.open_interrupts.emplace_back();
        if (i == 95) task.error = "no stock";
        row.due.push_back({.task = task, .wrote = {}});
    }
    const auto view = viewOf(row);
    REQUIRE(view.due.size() == sg::inspect::row_items_max);
    CHECK(view.due_count == 100);
    CHECK(view.due[0].name == "task 95");
    CHECK(view.due[0].state == "failed");
    CHECK(view.due[1].name == "task 90");
    CHECK(view.due[1].state == "asks");
    CHECK(view.due[2].name == "task 60");
    CHECK(view.due[40].state == "done");
}

TEST_CASE("what ran before a fork is what ran before its parent, and a fork ran nothing") {
    supersteps::Asking program;
    const auto before = supersteps::select(*program.saver, {});
    sg::fork(*program.saver, {.thread_id = "t", .checkpoint_id = before[2].entry.id});
    program.app.invoke(sg::RESUME, {.thread_id = "t"});
    const auto rows = supersteps::select(*program.saver, {});
    const auto fork = std::ranges::find(rows, sg::Source::fork, [](const Superstep& row) { return row.entry.source; });
    REQUIRE(fork != rows.end());
    REQUIRE(fork != rows.begin());
    CHECK(fork->ran.empty());
    CHECK(fork->due.empty());
    CHECK(supersteps::namesOf(std::prev(fork)->ran) == supersteps::namesOf(before[1].ran));
    CHECK(supersteps::namesOf(rows.front().ran) == supersteps::namesOf(before[0].ran));
    CHECK(supersteps::select(*program.saver, {.status = "fork"}).size() == 1);
}

TEST_CASE("rows are selected by node, by status, by failures and by text") {
    const supersteps::Asking program;
    CHECK(supersteps::select(*program.saver, {.node = "price"}).size() == 1);
    CHECK(supersteps::select(*program.saver, {.node = "ask"}).size() == 1);
    CHECK(supersteps::select(*program.saver, {.node = "pric"}).empty());
    CHECK(supersteps::select(*program.saver, {.status = "asked"}).size() == 1);
    CHECK(supersteps::select(*program.saver, {.status = "unfinished"}).size() == 1);
    CHECK(supersteps::select(*program.saver, {.status = "input"}).size() == 1);
    CHECK(supersteps::select(*program.saver, {.status = "failed"}).empty());
    CHECK(supersteps::select(*program.saver, {.text = "GATH"}).size() == 1);
    CHECK(supersteps::select(*program.saver, {.text = "totaL"}).size() == 1);
    CHECK_THROWS_AS(supersteps::select(*program.saver, {.status = "bad"}), sg::InvalidArgumentError);

    const supersteps::Failing failing;
    const auto failed = supersteps::select(*failing.saver, {.status = "failed"});
    REQUIRE_FALSE(failed.empty());
    CHECK(viewOf(failed.front().due.front()).state == "failed");
    CHECK(supersteps::select(*failing.saver, {.text = "NO STOCK"}).size() == 1);
    const auto retried = supersteps::select(*failing.saver, {.status = "retried"});
    REQUIRE(retried.size() == 1);
    CHECK(viewOf(retried.front().ran.front()).attempts == 3);
    const auto command = [&](const std::vector<std::string>& words) {
        return runCommand(words, {.open = [&](const std::string&, bool) { return failing.saver; }});
    };
    CHECK(command({"log", "t", "--status", "retried"}).has("flaky"));
    CHECK(command({"log", "t", "--node", "nobody"}).exit == Exit::no);
    CHECK(command({"log", "t", "--status", "bad"}).exit == Exit::usage);
    CHECK(command({"log", "t", "--graph", "--text", "x"}).exit == Exit::usage);
}

TEST_CASE("a selection looks at no more of a log than it may, and continues where it ended") {
    supersteps::Asking program;
    program.app.invoke(sg::resume(std::string("yes")), {.thread_id = "t"});
    const auto all = supersteps::shown(supersteps::select(*program.saver, {.text = "notes"}));
    CHECK(all.size() > 2);
    std::vector<std::string> found;
    std::size_t requests = 0;
    SuperstepQuery query{.text = "notes", .entries_max = 2};
    do {
        const auto page = sg::inspect::readSupersteps(*program.saver, supersteps::log, query);
        CHECK(page.rows.size() <= 2);
        for (std::string& text : supersteps::shown(page.rows)) found.push_back(std::move(text));
        query.before = page.next;
        ++requests;
    } while (query.before);
    CHECK(requests > 2);
    CHECK(found == all);
}

TEST_CASE("a damaged checkpoint is a row that says so, and one whose parent was pruned says nothing of what ran") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const sg::CheckpointId id{1, 2};
    const sg::CommitRow commit{.id = id, .parent = {}, .base = id, .bytes = "no record"};
    saver->put({.log = {"t", ""}, .expected_head = {}, .commits = {&commit, 1}, .writes = {}});
    const auto rows = supersteps::select(*saver, {});
    REQUIRE(rows.size() == 1);
    CHECK_FALSE(rows.front().entry.damaged.empty());
    CHECK(rows.front().ran.empty());
    CHECK(supersteps::select(*saver, {.status = "failed"}).size() == 1);

    const supersteps::Asking program;
    program.saver->prune({.thread_id = "t", .keep_last = 1});
    const auto left = supersteps::select(*program.saver, {});
    REQUIRE_FALSE(left.empty());
    CHECK(left.back().ran.empty());
}

TEST_CASE("a chart has the tasks of one run with those of subgraphs, retries, and the time that it waited") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph outer;
    outer.addNode("inner", graph().compile()).addNode("after", note("after"));
    outer.addEdge(sg::START, "inner").addEdge("inner", "after");
    const App app = outer.compile({.checkpointer = saver});
    app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"});
    const auto asks = sg::inspect::readRunChart(*saver, supersteps::log);
    const auto named = [](const sg::inspect::RunChart& chart, const std::string& name) {
        const auto found = std::ranges::find(chart.bars, name, &ChartBar::name);
        return found == chart.bars.end() ? nullptr : &*found;
    };
    REQUIRE(named(asks, "inner") != nullptr);
    CHECK(named(asks, "inner")->state == "asks");
    CHECK_FALSE(named(asks, "inner")->took_us);
    REQUIRE(named(asks, "gather") != nullptr);
    CHECK(named(asks, "gather")->depth == 1);
    CHECK(named(asks, "gather")->checkpoint_ns.starts_with("inner:"));
    REQUIRE(named(asks, "ask") != nullptr);
    CHECK(named(asks, "ask")->state == "asks");
    CHECK(named(asks, "after") == nullptr);

    app.invoke(sg::resume(std::string("yes")), {.thread_id = "t"});
    const auto done = sg::inspect::readRunChart(*saver, supersteps::log);
    REQUIRE(named(done, "after") != nullptr);
    CHECK(named(done, "after")->depth == 0);
    CHECK_FALSE(done.is_cut);
    for (const ChartBar& bar : done.bars) {
        CHECK(bar.begin_us >= 0);
        CHECK(bar.begin_us + bar.took_us.value_or(0) <= done.length_us);
        CHECK(bar.state != "asks");
    }
    // The next run is a chart of its own, and so is the one before.
    const auto first_end = sg::readTimeline(*saver, supersteps::log, {.limit = 1}).front().id;
    app.invoke(Update{sg::set(&Order::topic, std::string("milk"))}, {.thread_id = "t"});
    CHECK(sg::inspect::readRunChart(*saver, supersteps::log).supersteps < done.supersteps);
    const auto again = sg::inspect::readRunChart(*saver, {.thread_id = "t", .checkpoint_id = first_end});
    CHECK(again.bars.size() == done.bars.size());
    CHECK(sg::inspect::readRunChart(*saver, supersteps::log, {.bars = 2}).is_cut);
    CHECK(sg::inspect::readRunChart(*saver, supersteps::log, {.bars = 2}).bars.size() == 2);

    const supersteps::Failing failing;
    const auto chart = sg::inspect::readRunChart(*failing.saver, supersteps::log);
    REQUIRE(named(chart, "flaky") != nullptr);
    CHECK(named(chart, "flaky")->attempts == 3);
    REQUIRE(named(chart, "broken") != nullptr);
    CHECK(named(chart, "broken")->state == "failed");
    CHECK(named(chart, "broken")->error.find("no stock") != std::string::npos);
}

TEST_CASE("chart draws a line for each task, open where it has not ended, and errors as text") {
    const supersteps::Failing failing;
    const auto run = [&](const std::vector<std::string>& words) {
        return runCommand(words, {.open = [&](const std::string&, bool) { return failing.saver; }});
    };
    const auto chart = run({"chart", "t"});
    CHECK(chart.exit == Exit::done);
    CHECK(chart.has("flaky"));
    CHECK(chart.has("3 attempts"));
    CHECK(chart.has("broken"));
    CHECK(chart.has("failed  ! "));
    CHECK(run({"chart", "nobody"}).exit == Exit::no);
    CHECK(sg::parseJson(run({"chart", "t", "--json"}).out).toJson().find("\"attempts\":3") != std::string::npos);

    const auto saver = std::make_shared<sg::MemorySaver>();
    Graph hostile;
    hostile.addNode("bad", [](const Order&) -> Update { throw std::runtime_error("a\x1b[31m\xE2\x80\xAE"); })
        .addEdge(sg::START, "bad");
    CHECK_THROWS_AS(hostile.compile({.checkpointer = saver})
                        .invoke(Update{sg::set(&Order::topic, std::string("x"))}, {.thread_id = "t"}),
                    sg::NodeError);
    for (const char* command : {"chart", "log"}) {
        const auto shown = runCommand({command, "t"}, {.open = [&](const std::string&, bool) { return saver; }});
        CHECK(shown.exit == Exit::done);
        CHECK_FALSE(shown.has("\x1b"));
        CHECK_FALSE(shown.has("\xE2\x80\xAE"));
    }
}

TEST_CASE("rows, selections and charts are operations of the interface, and a thread that is not there is named") {
    inspected_api::Store store;
    const auto rows = store.ok({{"threads", "asks", "timeline"}, {{"node", "price"}}});
    REQUIRE(rows.at("checkpoints").as_array().size() == 1);
    CHECK(inspected_api::textAt(rows, "/checkpoints/0/ran/2/name") == "price #0");
    CHECK(inspected_api::textAt(rows, "/checkpoints/0/wrote/1/channel") == "total");
    CHECK(rows.at("next").is_null());
    CHECK(store.ok({{"threads", "asks", "timeline"}, {{"text", "nothing has this"}}})
              .at("checkpoints")
              .as_array()
              .empty());
    const auto chart = store.ok({{"threads", "asks", "checkpoints", "newest", "chart"}});
    CHECK(chart.at("bars").as_array().size() > 5);
    const auto missing = store.get({{"threads", "nobody", "timeline"}, {{"node", "price"}}});
    CHECK(missing.status == 404);
    CHECK(missing.body.find("there is no thread 'nobody'") != std::string::npos);
    CHECK(store.get({{"threads", "nobody", "checkpoints", "newest", "chart"}}).status == 404);
    const auto none = store.get({{"threads", "asks", "checkpoints", sg::CheckpointId(1, 2).toString(), "chart"}});
    CHECK(none.body.find("thread 'asks' has no checkpoint '") != std::string::npos);
    // One request reads a bounded number of checkpoints, so the search of a long thread continues with another one.
    CHECK(store.ok({{"threads", "asks", "checkpoints", "newest", "first"}, {{"condition", "total > 0"}}})
              .at("more")
              .is_null());
}
