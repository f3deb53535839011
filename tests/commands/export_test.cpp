#include <functional>
#include <sstream>

#include <stategraph/export.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "src/checkpoint/record.hpp"
#include "tests/commands/exports.hpp"
#include "tests/commands/threads.hpp"
#include "tests/support/meanwhile.hpp"

// Threads as lines of JSON, and back.
using namespace graphs;
using namespace commands_test;
using namespace exports;

TEST_CASE("a thread that was exported and imported reads byte for byte the same, from every saver to every other") {
    onSavers([](const Saver& from) {
        onSavers([&](const Saver& to) {
            const App app = appOf(from);
            const std::string name = "order 7 \xf0\x9f\x9a\x80";
            from->deleteThread(name);
            makeThread(app, *from, name);
            const Rows rows = rowsOf(*from, name);
            const std::string text = exported(*from, name);
            const sg::ThreadRows counts =
                imported(*to, text, {.thread_id = from == to ? sg::ThreadId("copy") : sg::ThreadId()});
            CHECK(counts.commits + counts.writes == rows.size());
            CHECK(differences(rowsOf(*to, counts.thread_id), rows) == "");
            CHECK(exported(*to, name) == text);

            const App there = appOf(to);
            Strings before;
            Strings after;
            for (const auto& snapshot : app.getStateHistory({.thread_id = name}))
                before.push_back(sg::toJson(snapshot));
            for (const auto& snapshot : there.getStateHistory({.thread_id = name}))
                after.push_back(sg::toJson(snapshot));
            CHECK(after == before);
            CHECK((there.getState({.thread_id = name}).interrupts() == app.getState({.thread_id = name}).interrupts()));
            CHECK((there.invoke(sg::resume("later"), {.thread_id = name}).status == sg::Status::done));
        });
    });
}

TEST_CASE("the lines are as the document says") {
    const Strings lines = linesOf(sample());
    REQUIRE(lines.size() > 5);
    CHECK(lines.front() ==
          R"({"format":"stategraph thread","version":1,"thread":"t","library":"0.1.0","sealed":false})");
    CHECK(contains(lines[1], R"({"ns":"","commit":"018bcfe5-6800-7)"));
    CHECK(contains(lines[2], R"({"ns":"","write":"018bcfe5-6800-7)"));
    CHECK(contains(lines[2], R"("path":"pu)"));
    CHECK(contains(lines[lines.size() - 2], R"({"graph":")"));
    CHECK(contains(lines.back(), R"({"end":true,"commits":)"));
    CHECK(contains(lines.back(), R"("graphs":3,"xxh3":)"));
    CHECK(contains(sample(), R"({"ns":"sub:)"));
    // The JSON of any program is accepted: other spaces, another order, escapes, and the line ends of e-mail programs.
    Strings changed = linesOf(withoutSum(sample()));
    for (std::string& line : changed) {
        line = " { " + line.substr(1, line.size() - 2) + "\t} \r";
        if (const auto at = line.find("\"ns\""); at != std::string::npos) line.replace(at, 4, "\"\\u006es\" ");
    }
    sg::MemorySaver saver;
    CHECK(imported(saver, textOf(changed)).thread_id == "t");
    CHECK(linesOf(withoutSum(exported(saver, "t"))) == linesOf(withoutSum(sample())));
}

TEST_CASE("names that are not UTF-8 are written as base64") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = appOf(saver);
    const std::string name("\xff\0\n", 3);
    makeThread(app, *saver, name);
    const auto tuple = saver->getTuple({.log = {name}});
    std::string record;
    sg::checkpoint::writeTask(tuple->id, {.node = "of another program"}, record);
    const sg::WriteRow row{tuple->id, "\xfe\"", record};
    saver->putWrites({name}, tuple->head, {&row, 1});
    const std::string text = exported(*saver, name);
    CHECK(contains(text, R"("thread64":"/wAK")"));
    CHECK(contains(text, R"("path64":"/iI=")"));
    sg::MemorySaver other;
    CHECK(imported(other, text).thread_id == name);
    CHECK(differences(rowsOf(other, name), rowsOf(*saver, name)) == "");
}

TEST_CASE("a stream may have several threads, and an imported one continues") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = askingApp(saver);
    std::stringstream stream;
    for (const char* thread : {"t", "u"}) {
        app.invoke(bar("i"), {.thread_id = thread});
        sg::exportThread(*saver, thread, stream);
    }
    const auto other = std::make_shared<sg::MemorySaver>();
    CHECK(sg::importThread(*other, stream).thread_id == "t");
    CHECK(sg::importThread(*other, stream).thread_id == "u");
    CHECK_THROWS_AS(sg::importThread(*other, stream), sg::CorruptCheckpointError);
    const App there = askingApp(other);
    std::vector<sg::Answer> answers;
    for (const auto& asked : there.getState({.thread_id = "u"}).interrupts()) answers.emplace_back(asked.id, "!");
    CHECK((there.invoke(sg::resume(answers), {.thread_id = "u"}).status == sg::Status::done));
}

#if STATEGRAPH_HAS_ENCRYPTION
TEST_CASE("encrypted records are exported decrypted, or where asked as they are stored") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    const auto saver = std::make_shared<sg::EncryptedSaver>(inner, encryption::key("k"));
    const App app = askingApp(saver);
    app.invoke(bar("a secret"), {.thread_id = "t", .max_concurrency = 1});
    const auto refused = thrown<sg::InvalidArgumentError>([&] { exported(*inner, "t"); });
    CHECK(contains(refused.what(), "ExportOptions::sealed"));
    const std::string sealed = exported(*inner, "t", {.sealed = true});
    CHECK(contains(linesOf(sealed).front(), R"("sealed":true)"));

    const auto there = std::make_shared<sg::MemorySaver>();
    CHECK(
        contains(thrown<sg::InvalidArgumentError>([&] { imported(*there, sealed); }).what(), "ImportOptions::sealed"));
    CHECK(contains(thrown<sg::CorruptCheckpointError>([&] {
                       imported(*there, sealed, {.thread_id = "u", .sealed = true});
                   }).what(),
                   "rename"));
    std::string lying = withoutSum(sealed);
    lying.replace(lying.find("\"sealed\":true"), 13, "\"sealed\":false");
    CHECK(contains(thrown<sg::CorruptCheckpointError>([&] { imported(*there, lying); }).what(), "encrypted"));
    CHECK(there->list({}).empty());
    imported(*there, sealed, {.sealed = true});
    CHECK(differences(rowsOf(*there, "t"), rowsOf(*inner, "t")).empty());
    sg::EncryptedSaver opened(there, encryption::key("k"));
    CHECK(differences(rowsOf(opened, "t"), rowsOf(*saver, "t")) == "");
    // The lines with encrypted records have no descriptions of graphs.
    CHECK(rowLinesOf(exported(opened, "t")) == rowLinesOf(exported(*saver, "t")));
}
#endif

TEST_CASE("a saver that fails while a thread is exported leaves lines that are not imported") {
    std::size_t n = 1;
    for (bool failed = true; failed; ++n) {
        REQUIRE(n < 100);
        sg::testing::FaultSaver saver(std::make_shared<sg::MemorySaver>());
        imported(saver, sample());
        saver.arm({.fail_at = n});
        std::ostringstream out;
        failed = false;
        try {
            sg::exportThread(saver, "t", out);
        } catch (const sg::SaverError&) {
            failed = true;
        }
        saver.disarm();
        if (failed) CHECK(refusal(out.str()) != "");
        if (!failed) CHECK(out.str() == sampleWithoutGraphs());
    }
    CHECK(n > 3);
    sg::MemorySaver saver;
    imported(saver, sample());
    std::ostringstream broken;
    broken.setstate(std::ios::badbit);
    CHECK_THROWS_AS(sg::exportThread(saver, "t", broken), sg::SaverError);
    std::ostringstream nothing;
    CHECK_THROWS_AS(sg::exportThread(saver, "nobody", nothing), sg::InvalidArgumentError);
    CHECK(nothing.str().empty());
}

TEST_CASE("a thread that is pruned while it is exported is not exported in part") {
    onSavers([](const Saver& store) {
        Graph graph;
        graph.addNode("a", [](const State&) -> Update { return {sg::add(&State::n, 1), sg::add(&State::bar, "x")}; });
        graph.addEdge(sg::START, "a");
        graph.addConditionalEdges("a", [](const State& state) { return state.n < 60 ? "a" : sg::END; });
        const App app = graph.compile({.checkpointer = store, .recursion_limit = 100});
        app.invoke(Update{}, {.thread_id = "t"});
        Meanwhile saver(store);
        saver.after_list = [&] { store->prune({.thread_id = "t", .keep_last = 2}); };
        std::ostringstream out;
        CHECK_THROWS_AS(sg::exportThread(saver, "t", out), sg::CorruptCheckpointError);
        CHECK(refusal(out.str()) != "");
        sg::MemorySaver other;
        imported(other, exported(saver, "t"));  // pruned, and whole
        CHECK(differences(rowsOf(other, "t"), rowsOf(*store, "t")) == "");
    });
}
