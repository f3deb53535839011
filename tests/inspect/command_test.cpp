#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include <stategraph/graph_description.hpp>
#include <stategraph/inspect/command.hpp>
#include <stategraph/rocksdb_saver.hpp>

#include "tests/support/inspected.hpp"
#include "tests/support/temporary_folder.hpp"

// The command line, with a database that a program has left.
namespace sg = stategraph;
using namespace inspected;
using sg::inspect::Exit;

namespace {

struct Answer {
    Exit exit;
    std::string out;
    std::string error;
    bool has(std::string_view text) const { return out.find(text) != std::string::npos; }
};

class Database {
public:
    Database() : path((folder_ / "db").string()) {
        const auto saver = std::make_shared<sg::RocksDBSaver>(path);
        const App app = graph().compile({.checkpointer = saver});
        app.invoke(Update{sg::set(&Order::topic, std::string("tea"))}, {.thread_id = "asks"});
        app.invoke(Update{sg::set(&Order::topic, std::string("milk"))}, {.thread_id = "done"});
        app.invoke(sg::resume(std::string("yes")), {.thread_id = "done"});
        Graph failing;
        failing.addNode("bad", [](const Order&) -> Update { throw std::runtime_error("no stock"); })
            .addEdge(sg::START, "bad");
        CHECK_THROWS_AS(failing.compile({.checkpointer = saver})
                            .invoke(Update{sg::set(&Order::topic, std::string("x"))}, {.thread_id = "fails"}),
                        sg::NodeError);
    }

    Answer run(std::vector<std::string> arguments, const sg::inspect::CommandOptions& options = {}) const {
        std::ostringstream out;
        std::ostringstream error;
        auto with = options;
        if (with.store.empty()) with.store = path;
        const Exit exit = sg::inspect::runCommand(arguments, out, error, with);
        return {exit, out.str(), error.str()};
    }

private:
    TemporaryFolder folder_;

public:
    const std::string path;
};

std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("ls lists threads, the newest first, by status, age and text") {
    const Database database;
    const Answer all = database.run({"ls"});
    CHECK(all.exit == Exit::done);
    CHECK(lines(all.out) == 3);
    CHECK(all.out.find("fails") < all.out.find("done "));
    CHECK(all.has("no stock"));
    CHECK(all.has("? \"Pay 7?\""));
    const Answer asked = database.run({"ls", "--status", "interrupted"});
    CHECK(lines(asked.out) == 1);
    CHECK(asked.has("asks"));
    CHECK(lines(database.run({"ls", "--text", "Pay"}).out) == 1);
    CHECK(lines(database.run({"ls", "--since=1h"}).out) == 3);
    CHECK(database.run({"ls", "--limit", "1"}).has("and more; --limit"));
    const Answer json = database.run({"ls", "--json", "--status", "done"});
    CHECK(sg::parseJson(json.out).toJson().find(R"("thread_id":"done")") != std::string::npos);
}

TEST_CASE("the database is a place where a command takes no thread") {
    const Database database;
    CHECK(lines(database.run({"ls", database.path}, {.store = "elsewhere"}).out) == 3);
    CHECK(database.run({"check", database.path}, {.store = "elsewhere"}).exit == Exit::done);
}

TEST_CASE("ls finds threads by the metadata of their newest checkpoint") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph().compile({.checkpointer = saver});
    const auto begin = [&](const char* thread, sg::Metadata metadata) {
        app.invoke(Update{sg::set(&Order::topic, std::string("tea"))},
                   {.thread_id = thread, .metadata = std::move(metadata)});
    };
    begin("paris", {{"shop", "Paris"}, {"number", 7}});
    begin("vienna", {{"shop", "Vienna"}, {"number", "7"}});
    begin("none", {});
    const sg::inspect::CommandOptions memory{.open = [&](const std::string&, bool) { return saver; }};
    const auto found = [&](const std::string& entry) {
        std::ostringstream out;
        std::ostringstream error;
        const std::vector<std::string> words{"ls", "--json", "--metadata", entry};
        CHECK(sg::inspect::runCommand(words, out, error, memory) == Exit::done);
        std::string threads;
        for (const char* thread : {"paris", "vienna", "none"}) {
            if (out.str().find('"' + std::string(thread) + '"') != std::string::npos)
                threads += std::string(thread) + " ";
        }
        return threads;
    };
    CHECK(found("shop=Paris") == "paris ");
    CHECK(found("number=7") == "paris ");
    CHECK(found("number=\"7\"") == "vienna ");
    CHECK(found("shop=Berlin").empty());
    CHECK(found("nothing=1").empty());
}

TEST_CASE("log draws the branches of a thread") {
    const Database database;
    {
        const App app = graph().compile({.checkpointer = std::make_shared<sg::RocksDBSaver>(database.path)});
        std::vector<sg::Config> past;
        for (const auto& each : app.getStateHistory({.thread_id = "done"}, {.values = false}))
            past.push_back(each.config);
        app.updateState(past[4], Update{sg::add(&Order::notes, std::string("edited"))}, {.as_node = "plan"});
    }
    const Answer log = database.run({"log", "done", "--graph"});
    CHECK(log.exit == Exit::done);
    CHECK(log.has("|/\n"));
    CHECK(log.has("| * "));
    CHECK(log.has("→ left, right, price, price"));
    CHECK(log.has("update"));
    CHECK(database.run({"log", "done", "--limit", "2"}).has("older ones"));
    CHECK(database.run({"log", "nobody"}).exit == Exit::no);
    CHECK(lines(database.run({"log", "done@1"}).out) == 3);
    const Answer json = database.run({"log", "done", "--json"});
    CHECK(sg::parseJson(json.out).toJson().find("\"source\":\"update\"") != std::string::npos);
}

TEST_CASE("show prints tasks, questions, errors and values, and pages of one value") {
    const Database database;
    const Answer asks = database.run({"show", "asks"});
    CHECK(asks.exit == Exit::done);
    CHECK(asks.has("asks  ask"));
    CHECK(asks.has("? \"Pay 7?\""));
    CHECK(asks.has("notes  [\"plan\",\"left\",\"right\",\"gather\"]"));
    CHECK(asks.has("total  7"));
    CHECK(database.run({"show", "fails"}).has("no stock"));
    CHECK(database.run({"show", "asks@1"}).has("total  0"));
    CHECK(database.run({"show", "asks@~1"}).has("step 2"));
    CHECK(database.run({"show", "asks", "--channel", "notes", "--from", "1", "--count", "2"}).out ==
          "list of 4, 24 B\n  1  \"left\"\n  2  \"right\"\n… --from 3 shows more\n");
    CHECK(database.run({"show", "asks", "--path", "/notes/3"}).out == "\"gather\"\n");
    CHECK(database.run({"show", "asks", "--path", "/notes/9"}).exit == Exit::usage);
    CHECK(database.run({"show", "asks@17"}).exit == Exit::no);
    CHECK(database.run({"show", "asks", "--json"}).has("\"interrupts\":"));
    CHECK(database.run({"show", "asks", "--json", "--channel", "total"}).out == "7\n");
}

TEST_CASE("diff shows what a checkpoint changed, and what differs between two") {
    const Database database;
    const Answer changed = database.run({"diff", "asks@2"});
    CHECK(changed.exit == Exit::no);
    CHECK(changed.has("notes  append\n+ \"left\"\n+ \"right\"\n"));
    CHECK(changed.has("total  set\n+ 7\n"));
    const Answer two = database.run({"diff", "asks@1", "done"});
    CHECK(two.has("topic  differs\n- \"tea\"\n+ \"yes\"\n"));
    CHECK(two.has("  1 the same\n+ \"left\""));
    CHECK(database.run({"diff", "asks", "asks"}).exit == Exit::done);
    CHECK(database.run({"diff", "asks", "nobody"}).exit == Exit::no);
}

TEST_CASE("why and blame name the node that it was") {
    const Database database;
    CHECK(database.run({"why", "asks"}).out == "ask  a goto of gather\n");
    CHECK(database.run({"why", "asks@2"}).out == "gather  the join of left and right\n");
    CHECK(database.run({"why", "asks@1", "price"}).has("Send 1 of plan"));
    CHECK(database.run({"why", "asks@1", "nothing"}).exit == Exit::no);
    CHECK(database.run({"why", "done"}).exit == Exit::no);
    const Answer blame = database.run({"blame", "done", "notes"});
    CHECK(lines(blame.out) == 5);
    CHECK(blame.has("left, right"));
    CHECK(database.run({"blame", "done", "nothing"}).exit == Exit::no);
    CHECK(database.run({"blame", "done", "notes", "--limit", "2"}).has("older ones: blame done@"));
    CHECK(database.run({"why", "asks", "--json"}).has(R"("kind":"goto","from":["gather"])"));
}

TEST_CASE("graph, stats and check") {
    const Database database;
    const Answer drawn = database.run({"graph", "asks"});
    CHECK(drawn.has("left + right → gather"));
    CHECK(drawn.has("gather ⇢ goto ask"));
    CHECK(drawn.has("last  deferred"));
    CHECK(database.run({"stats"}).has("3"));
    CHECK(database.run({"stats", "asks", "--json"}).exit == Exit::done);
    CHECK(database.run({"stats", "nobody"}).error == "stategraph: there is no thread 'nobody'\n");
    CHECK(database.run({"stats", "nobody"}).exit == Exit::no);
    CHECK(database.run({"prune", "nobody", "--keep-last", "1"}).error == "stategraph: there is no thread 'nobody'\n");
    CHECK(database.run({"stats"}).has("RocksDB compresses"));
    const Answer largest = database.run({"stats", "--largest", "1"});
    CHECK(largest.has("\nthread done "));
    CHECK_FALSE(largest.has("\nthread asks "));
    CHECK_FALSE(database.run({"stats"}).has("\nthread "));
    CHECK(database.run({"stats", "asks", "--largest", "1"}).exit == Exit::usage);
    CHECK(database.run({"stats", "--largest", "0"}).exit == Exit::usage);
    CHECK(database.run({"check"}).out == "3 threads read, 0 damaged\n");
}

TEST_CASE("check --graph finds the threads that a new version of a program could not resume") {
    const Database database;
    const TemporaryFolder folder;
    const std::string file = (folder / "graph.json").string();
    const auto write = [&](const std::string& text) { std::ofstream(file, std::ios::trunc) << text; };
    const auto check = [&](std::vector<std::string> more = {}) {
        more.insert(more.begin(), {"check", "--graph", file});
        return database.run(more);
    };
    Graph failing;
    failing.addNode("bad", [](const Order&) -> Update { return {}; }).addEdge(sg::START, "bad");
    const auto other = sg::describeGraphs(failing.compile({}));
    write(sg::toJson(sg::describeGraph(graph().compile({}))));
    Answer answer = check();
    CHECK(answer.exit == Exit::no);
    CHECK(answer.has("fails  node 'bad' is due, and the graph has no such node"));
    CHECK(lines(answer.out) == 2);
    write(sg::toJson(other));
    answer = check({"--json"});
    CHECK(answer.exit == Exit::no);
    CHECK(answer.has(R"("thread_id":"asks")"));
    CHECK(answer.has(R"("node":"ask")"));
    CHECK_FALSE(answer.has("done"));  // nothing is due there
    for (const char* wrong : {"", "[]", "{}", "7", "[{}]", "{\"nodes\":"}) {
        CAPTURE(wrong);
        write(wrong);
        CHECK(check().exit == Exit::usage);
    }
    CHECK(database.run({"check", "--graph", file + ".none"}).exit == Exit::usage);
}

TEST_CASE("wrong arguments say what is wrong, and a store that cannot be read is another exit code") {
    const Database database;
    CHECK(database.run({}).exit == Exit::usage);
    CHECK(database.run({"help"}).has("stategraph blame"));
    CHECK(database.run({"help", "why"}).has("due"));
    for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{
             {"nothing"},
             {"show"},
             {"show", "a", "b"},
             {"ls", "--limit"},
             {"ls", "--limit", "0"},
             {"ls", "--limit", "many"},
             {"ls", "--since", "1"},
             {"ls", "--since", "99999999999d"},
             {"ls", "--graph"},
             {"ls", "--metadata", "shop"},
             {"ls", "one", "two"},
             {"ls", database.path, "--store", database.path},
             {"show", "@7"},
             {"show", ""},
             {"show", std::string(500, 'x')},
         }) {
        const Answer answer = database.run(bad);
        CHECK(answer.exit == Exit::usage);
        CHECK(answer.out.empty());
        CHECK(answer.error.starts_with("stategraph: "));
    }
    CHECK(database.run({"ls", "--store", database.path + "/nothing"}).exit == Exit::failed);
    CHECK(database.run({"ls", database.path + "/nothing"}).exit == Exit::failed);
    CHECK(database.run({"completion"}).has("complete -F"));
    // As with `ls`, which takes the store as its argument.
    CHECK(database.run({"show", database.path, "done"}).error.find("named by --store") != std::string::npos);
}

TEST_CASE("a namespace is refused by commands that take a whole thread, and nothing is deleted") {
    const Database database;
    for (const char* const command : {"rm", "export", "fork"})
        CHECK(database.run({command, "done", "--ns", "child"}).error.find("leave out --ns") != std::string::npos);
    CHECK(lines(database.run({"log", "done"}).out) > 3);
}

TEST_CASE("hostile names and values are shown as text") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = graph().compile({.checkpointer = saver});
    const std::string hostile = "a\x1b]0;evil\x07\r\n\xe2\x80\xae\xc2\x9b\xff";
    app.invoke(Update{sg::set(&Order::topic, hostile)}, {.thread_id = hostile});
    const Database database;
    const sg::inspect::CommandOptions options{.open = [&](const std::string&, bool) { return saver; }, .columns = 80};
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"ls"},
                                                      {"log", hostile, "--graph"},
                                                      {"chart", hostile},
                                                      {"show", hostile},
                                                      {"diff", hostile + "@0"},
                                                      {"blame", hostile, "topic"},
                                                      {"stats", hostile},
                                                      {"show", hostile, "--path", "/topic"},
                                                      {"show", hostile, "--path", "/" + hostile}}) {
        const Answer answer = database.run(arguments, options);
        for (const std::string& text : {answer.out, answer.error}) {
            CHECK(text.find('\x1b') == std::string::npos);
            CHECK(text.find('\x07') == std::string::npos);
            CHECK(text.find('\r') == std::string::npos);
            CHECK(text.find("\xe2\x80\xae") == std::string::npos);
            CHECK(text.find("\xc2\x9b") == std::string::npos);
            CHECK(text.find('\xff') == std::string::npos);
        }
    }
}

TEST_CASE("lines fit a terminal, and colours come only where they are wanted") {
    const Database database;
    const Answer coloured = database.run({"ls"}, {.colour = true});
    CHECK(coloured.has("\x1b["));
    CHECK(!database.run({"ls", "--json"}, {.colour = true}).has("\x1b["));
    const Answer narrow = database.run({"show", "asks"}, {.columns = 30});
    CHECK(narrow.has("…"));
}

TEST_CASE("answer stores what the program takes when it resumes, once") {
    const Database database;
    const Answer stored = database.run({"answer", "asks", "yes"});
    CHECK(stored.exit == Exit::done);
    CHECK(stored.has("stored \"yes\""));
    CHECK(database.run({"answer", "asks", "no"}).exit == Exit::no);
    CHECK(database.run({"answer", "done", "no"}).exit == Exit::no);
    CHECK(database.run({"ls", "--status", "in_flight"}).has("asks"));
    const App app = graph().compile({.checkpointer = std::make_shared<sg::RocksDBSaver>(database.path)});
    const auto result = app.invoke(sg::RESUME, {.thread_id = "asks"});
    CHECK((result.status == sg::Status::done));
    CHECK(result.values.topic == "yes");
}

TEST_CASE("a fork is the newest checkpoint, from which the program runs on") {
    const Database database;
    const Answer forked = database.run({"fork", "done@1", "--note", "once more"});
    CHECK(forked.exit == Exit::done);
    const Answer shown = database.run({"show", "done"});
    CHECK(shown.has("fork"));
    CHECK(shown.has("note = \"once more\""));
    CHECK(database.run({"why", "done", "left"}).has("a fork: it was due at the checkpoint before"));
    CHECK(database.run({"ls", "--status", "edited"}).has("done"));
    CHECK(database.run({"fork", "done@99"}).exit == Exit::no);
    const App app = graph().compile({.checkpointer = std::make_shared<sg::RocksDBSaver>(database.path)});
    CHECK((app.invoke(sg::RESUME, {.thread_id = "done"}).status == sg::Status::interrupted));
}

TEST_CASE("a file of exported threads is read without a database, and not written to") {
    const Database database;
    const std::string file = database.path + ".ndjson";
    CHECK(database.run({"export", "asks", file}).exit == Exit::done);
    CHECK(lines(database.run({"ls", file}).out) == 1);
    CHECK(database.run({"show", "asks", "--store", file}).out == database.run({"show", "asks"}).out);
    CHECK(database.run({"blame", "asks", "notes", "--store", file}).out ==
          database.run({"blame", "asks", "notes"}).out);
    std::ofstream(file, std::ios::app) << database.run({"export", "done"}).out;
    CHECK(lines(database.run({"ls", file}).out) == 2);
    const Answer refused = database.run({"answer", "asks", "yes", "--store", file});
    CHECK(refused.exit == Exit::failed);
    CHECK(refused.error.find("stategraph import") != std::string::npos);
    std::ofstream(file, std::ios::app) << "{\n";
    CHECK(database.run({"ls", file}).exit == Exit::failed);
}

TEST_CASE("an exported thread is imported elsewhere, and reads the same") {
    const Database database;
    const Answer exported = database.run({"export", "asks"});
    REQUIRE(exported.exit == Exit::done);
    std::istringstream in(exported.out);
    const std::string elsewhere = database.path + "-2";
    CHECK(database.run({"import", "--store", elsewhere, "--create", "--as", "copy"}, {.in = &in}).exit == Exit::done);
    const auto valuesOf = [](std::string text) { return text.substr(text.find("values\n")); };
    CHECK(valuesOf(database.run({"show", "copy", "--store", elsewhere}).out) ==
          valuesOf(database.run({"show", "asks"}).out));
    const std::string file = database.path + ".ndjson";
    CHECK(database.run({"export", "asks", file}).exit == Exit::done);
    CHECK(database.run({"import", file}).exit == Exit::usage);  // the thread exists
    CHECK(database.run({"import", file, "--as", "again"}).exit == Exit::done);
    CHECK(database.run({"export", "nobody", file + "x"}).exit == Exit::usage);
    CHECK(!std::filesystem::exists(file + "x"));
    CHECK(database.run({"import", file + "x"}).exit == Exit::no);
    std::istringstream damaged(exported.out.substr(0, exported.out.size() / 2));
    CHECK(database.run({"import", "--as", "half"}, {.in = &damaged}).exit == Exit::failed);
    CHECK(database.run({"show", "half"}).exit == Exit::no);
}

TEST_CASE("a prune that is only tried drops nothing and says what it would drop") {
    const Database database;
    const auto count = [&] { return lines(database.run({"log", "done"}).out); };
    const std::size_t before = count();
    CHECK(database.run({"prune"}).exit == Exit::usage);
    const Answer tried = database.run({"prune", "--keep-last", "1", "--dry-run"});
    CHECK(tried.has("done  " + std::to_string(before - 1) + " of " + std::to_string(before)));
    CHECK(count() == before);
    const Answer pruned = database.run({"prune", "done", "--keep-last", "1"});
    CHECK(pruned.out == std::to_string(before - 1) + " checkpoints were dropped\n");
    CHECK(count() == 1);
}
