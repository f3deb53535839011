#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <stategraph/export.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/read_checkpoint.hpp>

#include "tests/commands/exports.hpp"
#include "tests/commands/threads.hpp"
#include "tests/support/door.hpp"

// Descriptions of graphs in the lines of an exported thread, and lines that an earlier program wrote.
using namespace graphs;
using namespace commands_test;
using namespace exports;
namespace fs = std::filesystem;

namespace {

const fs::path folder = fs::path(STATEGRAPH_TESTS_DIR) / "golden" / "exported";

std::string fileText(const char* name) {
    std::ifstream in(folder / name, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    REQUIRE(in.good());
    return text.str();
}

// Returns the sorted names of the nodes.
Strings nodesOf(const std::optional<sg::GraphDescription>& graph) {
    Strings names;
    if (graph)
        for (const sg::DescribedNode& node : graph->nodes) names.push_back(node.name);
    std::ranges::sort(names);
    return names;
}

// A saver whose descriptions fail when the test says so.
struct Described final : Door {
    explicit Described(const Saver& store) : Door(store), inner(store) {}
    Saver inner;
    bool fails_to_read = false;
    bool fails_to_write = false;
    void putGraph(const sg::GraphFingerprint& fingerprint, std::string_view bytes) override {
        if (fails_to_write) throw sg::SaverError("a full disk");
        inner->putGraph(fingerprint, bytes);
    }
    std::optional<std::string> getGraph(const sg::GraphFingerprint& fingerprint) override {
        if (fails_to_read) throw sg::SaverError("a broken disk");
        return inner->getGraph(fingerprint);
    }
};

std::size_t countOf(const Strings& lines, const std::string& part) {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines, [&](const std::string& line) { return contains(line, part); }));
}

// Returns the line of the first description, from a text without its checksum, with some of its text replaced.
std::string changedGraph(const std::string& from, const std::string& to) {
    std::string text = withoutSum(sample());
    const std::size_t line = text.find("{\"graph\"");
    const std::size_t at = text.find(from, line);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("an exported thread has its graphs, also those inside them, and is drawn where it is imported") {
    onSavers([](const Saver& from) {
        const App app = appOf(from);
        from->deleteThread("t");
        makeThread(app, *from, "t");
        const std::string text = exported(*from, "t");
        CHECK(countOf(linesOf(text), "{\"graph\"") == 3);  // the root's and two inside it
        const auto to = std::make_shared<sg::MemorySaver>();
        CHECK(imported(*to, text, {.thread_id = "copy"}).graphs == 3);
        const auto graph = sg::readGraph(*to, sg::Config{.thread_id = "copy"});
        REQUIRE(graph);
        CHECK(nodesOf(graph) == nodesOf(sg::readGraph(*from, sg::Config{.thread_id = "t"})));
        std::size_t inside = 0;
        for (const sg::DescribedNode& node : graph->nodes) {
            if (!node.subgraph) continue;
            ++inside;
            CHECK(!nodesOf(sg::readGraph(*to, *node.subgraph)).empty());
        }
        CHECK(inside == 2);
    });
}

TEST_CASE("a thread that several versions of a graph ran has the descriptions of all") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    for (const char* name : {"a", "b"}) {
        Graph graph;
        graph.addNode(name, appends(name)).addEdge(sg::START, name);
        graph.compile({.checkpointer = saver}).invoke(bar(name), {.thread_id = "t"});
    }
    const auto to = std::make_shared<sg::MemorySaver>();
    CHECK(imported(*to, exported(*saver, "t")).graphs == 2);
    const auto history = to->list({.thread_id = "t", .checkpoint_ns = ""});
    const auto graphAt = [&](const sg::CheckpointId& id) {
        return nodesOf(sg::readGraph(*to, sg::Config{.thread_id = "t", .checkpoint_id = id}));
    };
    CHECK(graphAt(history.front().id) == Strings{"b"});
    CHECK(graphAt(history.back().id) == Strings{"a"});
    saver->prune({.thread_id = "t", .keep_last = 1});
    CHECK(countOf(linesOf(exported(*saver, "t")), "{\"graph\"") == 1);
}

TEST_CASE("a stored description is not replaced by one of a file") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    imported(*saver, sample());
    const auto id = saver->list({.thread_id = "t"}).front().id;
    const auto fingerprint = sg::readGraph(*saver, sg::Config{.thread_id = "t", .checkpoint_id = id})->fingerprint;
    const std::string bytes = *saver->getGraph(fingerprint);
    auto other = sg::Value::fromCbor(bytes).as<sg::GraphDescription>();
    other.nodes.clear();
    const auto there = std::make_shared<sg::MemorySaver>();
    there->putGraph(fingerprint, sg::Value(other).bytes());
    imported(*there, sample());
    CHECK(there->getGraph(fingerprint) == std::string(sg::Value(other).bytes()));
}

TEST_CASE("a description that cannot be read is left out of an export, and refused by an import") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    imported(*saver, sample());
    const auto fingerprint = sg::readGraph(*saver, sg::Config{.thread_id = "t"})->fingerprint;
    saver->putGraph(fingerprint, "no description");
    const std::string text = exported(*saver, "t");
    CHECK(countOf(linesOf(text), "{\"graph\"") < countOf(linesOf(sample()), "{\"graph\""));
    sg::MemorySaver again;
    CHECK(differences(rowsOf(again, imported(again, text).thread_id), rowsOf(*saver, "t")) == "");

    CHECK(contains(refusal(changedGraph("\"bytes\":\"", "\"bytes\":\"AAAA")), "what it holds cannot be read"));
    CHECK(contains(refusal(changedGraph("\"graph\":\"", "\"graph\":\"0")), "what it holds cannot be read"));
    const auto lines = linesOf(withoutSum(sample()));
    const std::string graph =
        *std::ranges::find_if(lines, [](const auto& line) { return contains(line, "\"graph\""); });
    CHECK(contains(refusal(changedGraph(graph, graph + "\n" + graph)), "twice"));
    CHECK(contains(refusal(changedGraph(graph + "\n", "")), "descriptions of graphs"));
}

TEST_CASE("where descriptions cannot be read or stored, a thread is neither exported nor imported in part") {
    const auto store = std::make_shared<sg::MemorySaver>();
    Described saver(store);
    saver.fails_to_write = true;
    CHECK_THROWS_AS(imported(saver, sample()), sg::SaverError);
    CHECK(store->list({}).empty());
    saver.fails_to_write = false;
    imported(saver, sample());
    CHECK(exported(saver, "t") == sample());
    saver.fails_to_read = true;
    std::ostringstream out;
    CHECK_THROWS_AS(sg::exportThread(saver, "t", out), sg::SaverError);
    CHECK(refusal(out.str()) != "");
    CHECK_THROWS_AS(imported(saver, sample(), {.thread_id = "u"}), sg::SaverError);
    CHECK(store->list({.thread_id = "u"}).empty());
}

// Never change this file. A new version of the lines adds another file.
TEST_CASE("a file that an earlier program exported is imported as ever, and exported again as this version does") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    CHECK(imported(*saver, fileText("v1.ndjson")).graphs == 2);
    CHECK(nodesOf(sg::readGraph(*saver, sg::Config{.thread_id = "nested"})) == Strings{"bill", "receive", "ship"});
    const Strings golden = linesOf(withoutSum(fileText("v1.ndjson")));
    const Strings again = linesOf(withoutSum(exported(*saver, "nested")));
    CHECK(Strings(again.begin() + 1, again.end()) == Strings(golden.begin() + 1, golden.end()));
    const auto snapshot = sg::readCheckpoint(*saver, {.thread_id = "nested"});
    REQUIRE(snapshot);
    CHECK(contains(sg::toJson(*snapshot), "Pack 2 boxes for Hedy?"));
}
