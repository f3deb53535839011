#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <stategraph/fork.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/inspect/command_run.hpp"
#include "tests/support/inspected.hpp"
#include "tests/support/temporary_folder.hpp"

// Threads as traces that other viewers open.
namespace sg = stategraph;
namespace json = boost::json;
using namespace inspected;
using sg::inspect::Exit;

namespace {

struct Traced {
    explicit Traced(const std::string& text) : whole(json::parse(text)) {
        for (const json::value& each : whole.at("traceEvents").as_array()) {
            const std::string phase(each.at("ph").as_string());
            (phase == "X" ? slices : phase == "i" ? instants : names).push_back(each);
        }
    }
    std::vector<json::value> named(const std::string& name, const std::vector<json::value>& of) const {
        std::vector<json::value> found;
        for (const json::value& each : of) {
            if (each.at("name").as_string() == name) found.push_back(each);
        }
        return found;
    }
    /// The texts of names of processes or of threads.
    std::multiset<std::string> labels(const std::string& what) const {
        std::multiset<std::string> texts;
        for (const json::value& each : named(what, names)) texts.emplace(each.at_pointer("/args/name").as_string());
        return texts;
    }

    json::value whole;
    std::vector<json::value> slices;
    std::vector<json::value> instants;
    std::vector<json::value> names;
};

struct Program {
    CommandRun run(const std::vector<std::string>& words) const {
        return inspected::runCommand(words, {.open = [this](const std::string&, bool) { return saver; }});
    }
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    App app = graph().compile({.checkpointer = saver});
};

/// Slices of one row do not overlap, as viewers require.
void checkRows(const Traced& trace) {
    std::map<std::int64_t, std::int64_t> ends;
    for (const json::value& slice : trace.slices) {
        const std::int64_t begin = slice.at("ts").to_number<std::int64_t>();
        const std::int64_t took = slice.at("dur").to_number<std::int64_t>();
        CHECK(begin >= 0);
        CHECK(took >= 0);
        auto& end = ends[slice.at("tid").to_number<std::int64_t>()];
        if (slice.at("cat").as_string() == "task") CHECK(begin >= end);
        end = begin + took;
    }
}

}  // namespace

TEST_CASE("a trace has the supersteps and tasks of a thread with their durations, and each event a named row") {
    Program program;
    program.app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"});
    const CommandRun run = program.run({"export", "t", "--trace"});
    CHECK_MESSAGE(run.exit == Exit::done, run.error);
    const Traced trace(run.out);
    CHECK(trace.whole.at_pointer("/otherData/thread_id") == "t");
    CHECK(trace.labels("process_name") == std::multiset<std::string>{"thread t"});
    CHECK(trace.labels("thread_name").contains("newest branch"));
    CHECK(trace.labels("thread_name").contains("tasks of the newest branch"));
    std::size_t supersteps = 0;
    for (const auto& row : program.app.getStateHistory({.thread_id = "t"})) supersteps += row.took.has_value();
    std::size_t shown = 0;
    for (const json::value& slice : trace.slices) shown += slice.at("cat").as_string() == "loop";
    CHECK(shown == supersteps);
    for (const char* node : {"plan", "left", "right", "gather"}) CHECK(trace.named(node, trace.slices).size() == 1);
    CHECK(trace.named("price", trace.slices).size() == 2);
    CHECK(trace.named("input, step -1", trace.instants).size() == 1);
    const auto asks = trace.named("ask", trace.instants);
    REQUIRE(asks.size() == 1);
    CHECK(asks.front().at_pointer("/args/open_questions") == 1);
    checkRows(trace);

    std::set<std::int64_t> rows;
    for (const json::value& name : trace.named("thread_name", trace.names))
        rows.insert(name.at("tid").to_number<std::int64_t>());
    for (const auto* events : {&trace.slices, &trace.instants}) {
        for (const json::value& event : *events) CHECK(rows.contains(event.at("tid").to_number<std::int64_t>()));
    }
    CHECK(run.out.find("milk") == std::string::npos);
    CHECK(run.out.find("tea") == std::string::npos);
}

TEST_CASE("each branch is a row of its own, and each subgraph a process") {
    Program program;
    Graph outer;
    outer.addNode("inner", graph().compile()).addNode("after", note("after"));
    outer.addEdge(sg::START, "inner").addEdge("inner", "after");
    const App app = outer.compile({.checkpointer = program.saver});
    app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"});
    app.invoke(sg::resume(std::string("yes")), {.thread_id = "t"});
    const auto rows = program.saver->list({.thread_id = "t", .checkpoint_ns = ""});
    sg::fork(*program.saver, {.thread_id = "t", .checkpoint_id = rows.back().id});
    const Traced trace(program.run({"export", "t", "--trace"}).out);
    CHECK(trace.labels("process_name").size() == 2);
    CHECK(trace.labels("thread_name").count("newest branch") == 2);
    CHECK(trace.labels("thread_name").count("branch 2") == 1);
    CHECK(trace.named("fork, step 0", trace.instants).size() == 1);
    CHECK(trace.named("after", trace.slices).size() == 1);
    std::size_t checkpoints = 0;
    for (const auto* events : {&trace.slices, &trace.instants}) {
        for (const json::value& event : *events) checkpoints += event.at("args").as_object().contains("checkpoint_id");
    }
    CHECK(checkpoints == program.saver->list({.thread_id = "t"}).size());
    checkRows(trace);
}

TEST_CASE("hostile names are text in a trace, and tasks that ran at once are in rows of their own") {
    Program program;
    const std::string name = "\"},{\n\xE2\x80\xAE</script>\xff";
    Graph parallel;
    for (const char* node : {"a", "b"}) {
        parallel.addNode(node, [](const Order&) -> Update {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));  // sleeps: work that takes time
            return {};
        });
        parallel.addEdge(sg::START, node);
    }
    parallel.compile({.checkpointer = program.saver})
        .invoke(Update{sg::set(&Order::topic, std::string("x"))}, {.thread_id = name});
    const CommandRun run = program.run({"export", "--trace", "--", name});
    CHECK_MESSAGE(run.exit == Exit::done, run.error);
    const Traced trace(run.out);
    REQUIRE(trace.named("a", trace.slices).size() == 1);
    REQUIRE(trace.named("b", trace.slices).size() == 1);
    checkRows(trace);
}

TEST_CASE("a trace goes into a file, and of a thread that does not exist there is neither a trace nor a file") {
    const TemporaryFolder folder;
    Program program;
    program.app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"});
    const std::string file = (folder / "trace.json").string();
    CHECK(program.run({"export", "t", file, "--trace"}).has("perfetto"));
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    CHECK(Traced(text.str()).slices.size() > 4);
    const std::string none = (folder / "none.json").string();
    CHECK(program.run({"export", "nobody", none, "--trace"}).exit == Exit::no);
    CHECK(!std::ifstream(none));
    CHECK(program.run({"export", "nobody", "--trace"}).exit == Exit::no);
}

TEST_CASE("a log without durations, and one with a damaged checkpoint, are traced as far as they can be read") {
    Program program;
    const App app = graph().compile({.checkpointer = program.saver, .durations = false});
    app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "t"});
    const Traced trace(program.run({"export", "t", "--trace"}).out);
    CHECK(trace.slices.empty());
    CHECK(trace.instants.size() == program.saver->list({.thread_id = "t"}).size() + 1);  // and the question

    const sg::CheckpointId id{1, 2};
    const sg::CommitRow commit{.id = id, .parent = {}, .base = id, .bytes = "no record"};
    program.saver->put({.log = {"broken", ""}, .expected_head = {}, .commits = {&commit, 1}, .writes = {}});
    const Traced broken(program.run({"export", "broken", "--trace"}).out);
    REQUIRE(broken.instants.size() == 1);
    CHECK(broken.instants.front().at("name") == "damaged");
}
