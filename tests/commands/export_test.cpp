#include <algorithm>
#include <functional>
#include <sstream>

#include <stategraph/export.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "checkpoint/record.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/commands/threads.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/support/door.hpp"

// Threads as lines of JSON, and back.
using namespace graphs;
using namespace commands_test;

namespace {

// A thread with all kinds of rows: subgraphs' logs, one with memory and a key, questions, answers, an edit, forks.
App appOf(const Saver& saver) {
    static Log log;
    Graph inner;
    inner.addNode("deep", asks(log, "deep")).addEdge(sg::START, "deep");
    Graph kept;
    kept.addNode("k\xc3\xa9pt", appends("kept")).addEdge(sg::START, "k\xc3\xa9pt");
    Graph graph;
    graph.addNode("a", appends("a")).addNode("sub", inner.compile()).addNode("z", appends("z"));
    graph.addNode("keyed", kept.compile({.checkpointer = sg::perThread([](const State& state) { return state.foo; })}));
    graph.addEdge(sg::START, "a").addEdge("a", "keyed").addEdge("keyed", "sub").addEdge("sub", "z");
    return graph.compile({.checkpointer = saver});
}
void makeThread(const App& app, sg::BaseCheckpointSaver& saver, const std::string& thread) {
    const sg::RunConfig config{.thread_id = thread, .max_concurrency = 1, .metadata = {{"user", "\"Ada\"\n"}}};
    app.invoke({sg::set(&State::foo, "k\"|=\\\xc3\xa9"), sg::add(&State::bar, "i")}, config);
    app.invoke(sg::resume("yes"), config);
    app.updateState({.thread_id = thread}, bar("edit"), {.as_node = "a"});
    app.invoke(sg::RESUME, config);
    sg::fork(saver, {.thread_id = thread});
    app.invoke(sg::RESUME, config);
}

std::string exported(sg::BaseCheckpointSaver& saver, const std::string& thread, const sg::ExportOptions& options = {}) {
    std::ostringstream out;
    sg::exportThread(saver, thread, out, options);
    return out.str();
}
sg::ThreadRows imported(sg::BaseCheckpointSaver& saver, const std::string& text,
                        const sg::ImportOptions& options = {}) {
    std::istringstream in(text);
    return sg::importThread(saver, in, options);
}
Strings linesOf(const std::string& text) {
    Strings lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}
std::string textOf(const Strings& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}
// Without the checksum, so that what is checked is the rest.
std::string withoutSum(std::string text) {
    const std::size_t at = text.find(",\"xxh3\"");
    return at == std::string::npos ? text : text.substr(0, at) + "}\n";
}
std::string refusal(const std::string& text) {
    sg::MemorySaver saver;
    std::string why;
    try {
        imported(saver, text);
    } catch (const sg::CorruptCheckpointError& error) {
        why = error.what();
    }
    CHECK(saver.list({}).empty());
    return why;
}

const std::string& sample() {
    static const std::string text = [] {
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = askingApp(saver);
        app.invoke(bar("i"), {.thread_id = "t", .max_concurrency = 1});
        return exported(*saver, "t");
    }();
    return text;
}

}  // namespace

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
    CHECK(contains(lines.back(), R"({"end":true,"commits":)"));
    CHECK(contains(sample(), R"({"ns":"sub:)"));
    // Any program's JSON will do: other spaces, another order, escapes, and lines that end as a mail program's.
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

TEST_CASE("a stream may have several threads, and an imported one goes on") {
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

TEST_CASE("an existing thread is not touched, and another name is taken") {
    onSavers([](const Saver& saver) {
        imported(*saver, sample());
        const Rows before = rowsOf(*saver, "t");
        const auto error = thrown<sg::InvalidArgumentError>([&] { imported(*saver, sample()); });
        CHECK(contains(error.what(), "it has checkpoints"));
        CHECK(contains(error.what(), "'t'"));
        CHECK(differences(rowsOf(*saver, "t"), before) == "");
        CHECK(imported(*saver, sample(), {.thread_id = "u"}).thread_id == "u");
        CHECK(differences(rowsOf(*saver, "u"), before) == "");
    });
}

TEST_CASE("what is not whole is refused with its line, and nothing is stored") {
    const Strings lines = linesOf(withoutSum(sample()));
    const auto has = [](const std::string& why, std::size_t line) {
        CAPTURE(why);
        CHECK(contains(why, "line " + std::to_string(line) + " "));
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
        CAPTURE(i);
        Strings cut(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(i));
        has(refusal(textOf(cut)), i + 1);  // the stream ends
        cut.push_back(lines[i].substr(0, lines[i].size() / 2));
        has(refusal(textOf(cut)), i + 1);
        Strings without = lines;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(refusal(textOf(without)) != "");
        Strings twice = lines;
        twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
        if (i + 1 < lines.size()) CHECK(refusal(textOf(twice)) != "");
        const std::size_t base64 = lines[i].find("\"bytes\":\"");
        if (base64 == std::string::npos) continue;
        for (std::size_t at = base64 + 9; at < lines[i].size() - 2; at += 7) {
            Strings changed = lines;
            changed[i][at] = changed[i][at] == 'A' ? 'B' : 'A';
            has(refusal(textOf(changed)), i + 1);
        }
    }
}

TEST_CASE("lines that lie are refused") {
    const Strings lines = linesOf(withoutSum(sample()));
    const auto refuses = [&](std::size_t line, const std::string& text, const std::string& part) {
        Strings changed = lines;
        changed[line] = text;
        const std::string why = refusal(textOf(changed));
        CAPTURE(why);
        CAPTURE(text);
        CHECK(contains(why, "line " + std::to_string(line + 1) + " "));
        CHECK(contains(why, part));
    };
    const auto header = [&](const std::string& from, const std::string& to, const std::string& part) {
        std::string text = lines[0];
        text.replace(text.find(from), from.size(), to);
        refuses(0, text, part);
    };
    header("stategraph thread", "other", "not the header");
    header("\"version\":1", "\"version\":2", "version 2");
    header("\"version\":1", "\"version\":1.5", "whole number");
    header("\"version\":1", "\"version\":99999999999999999999", "whole number");
    header("\"thread\":\"t\"", "\"thread\":\"\"", "thread id");
    header("\"thread\":\"t\"", "\"thread\":\"" + std::string(120, 'x') + "\"", "thread id");
    header("\"thread\":\"t\"", "\"thread\":\"t\",\"thread64\":\"dA==\"", "both");
    header("\"thread\":\"t\"", "\"thread\":\"t\",\"thread\":\"u\"", "twice");
    header("\"thread\":\"t\"", "\"thread\":\"\\ud800\"", "surrogate");
    header("\"thread\":\"t\"", "\"thread\":\"\xff\"", "UTF-8");
    header("\"thread\":\"t\"", "\"thread\":[\"t\"]", "whole number");
    header("\"sealed\":false", "\"sealed\":false,\"more\":1", "'more'");
    refuses(1, "", "expected '{'");
    refuses(1, "{}", "no member 'ns'");
    refuses(1, "null", "expected '{'");
    refuses(1, lines[1] + lines[1], "more after");
    refuses(1, R"({"ns":"","commit":"","bytes":""})", "id of a checkpoint");
    refuses(1, R"({"ns":"","commit":"018bcfe5-6800-7000-8000-000000000000","bytes":""})", "");
    refuses(1, R"({"ns":"","commit":"018bcfe5-6800-7000-8000-000000000000","bytes":"A==="})", "not base64");
    refuses(lines.size() - 1, R"({"end":true,"commits":1,"writes":0})", "counts 1 commits");
    refuses(lines.size() - 1, R"({"end":false,"commits":1,"writes":0})", "must be true");
    std::string sum = sample();
    sum.replace(sum.find("pull:ask"), 8, "pull:asK");
    CHECK(contains(refusal(sum), "checksum"));
    CHECK(contains(refusal(textOf({lines[0], R"({"end":true,"commits":0,"writes":0})"})), "no commits"));
    std::string many = "{";
    for (int i = 0; i < 100; ++i) many += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":1";
    refuses(1, many + "}", "more members");
}

TEST_CASE("lines and threads above the limits are refused") {
    sg::MemorySaver saver;
    const auto error = [&](const sg::ImportOptions& options) {
        const std::string text = thrown<sg::InvalidArgumentError>([&] { imported(saver, sample(), options); }).what();
        CHECK(saver.list({}).empty());
        return text;
    };
    CHECK(contains(error({.line_bytes_max = 20}), "line 1 is longer than 20 bytes"));
    CHECK(contains(error({.line_bytes_max = 100}), "line_bytes_max"));
    CHECK(contains(error({.bytes_max = 500}), "bytes_max"));
    CHECK(contains(error({.bytes_max = 0}), "at least 1"));
    std::string endless(1U << 20U, 'x');
    std::istringstream in(endless);
    CHECK_THROWS_AS(sg::importThread(saver, in, {.line_bytes_max = 1000}), sg::InvalidArgumentError);
    CHECK(static_cast<std::size_t>(in.tellg()) <= 1002);
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
    CHECK(exported(opened, "t") == exported(*saver, "t"));
}
#endif

TEST_CASE("a saver that fails while a thread is imported has none of it, or the error says so") {
    for (const bool once : {true, false}) {
        for (const bool after_effect : {false, true}) {
            std::size_t n = 1;
            for (bool failed = true; failed; ++n) {
                CAPTURE(n);
                CAPTURE(once);
                CAPTURE(after_effect);
                REQUIRE(n < 100);
                sg::testing::FaultSaver saver(std::make_shared<sg::MemorySaver>());
                saver.arm({.fail_at = n, .once = once, .after_effect = after_effect});
                std::string why;
                try {
                    imported(saver, sample());
                } catch (const sg::SaverError& error) {
                    why = error.what();
                }
                failed = !why.empty();
                saver.disarm();
                const bool is_there = !saver.list({.thread_id = "t"}).empty();
                if (!failed) CHECK(is_there);
                if (failed && is_there) CHECK(contains(why, "could not be deleted"));
                if (failed && is_there) saver.deleteThread("t");
                if (failed) imported(saver, sample());
                CHECK(exported(saver, "t") == sample());
            }
            CHECK(n > 4);
        }
    }
}

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
        if (!failed) CHECK(out.str() == sample());
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

TEST_CASE("a thread that another process makes while one of its name is imported stays") {
    struct Meanwhile final : Door {
        using Door::Door;
        std::function<void()> then;
        void put(const sg::PutRequest& request) override {
            if (then && request.log.checkpoint_ns.empty()) std::exchange(then, {})();
            Door::put(request);
        }
    };
    onSavers([](const Saver& store) {
        Meanwhile saver(store);
        Graph graph;
        graph.addNode("a", appends("a")).addEdge(sg::START, "a");
        const App app = graph.compile({.checkpointer = store});
        saver.then = [&] { app.invoke(bar("i"), {.thread_id = "t"}); };
        const auto error = thrown<sg::ConcurrentUpdateError>([&] { imported(saver, sample()); });
        CHECK(contains(error.what(), "another process made the thread"));
        CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"i", "a"});
    });
}

TEST_CASE("a thread that is pruned while it is exported is not exported in part") {
    struct Meanwhile final : Door {
        using Door::Door;
        std::function<void()> then;
        std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
            auto listed = Door::list(query);
            if (then) std::exchange(then, {})();
            return listed;
        }
    };
    onSavers([](const Saver& store) {
        Graph graph;
        graph.addNode("a", [](const State&) -> Update { return {sg::add(&State::n, 1), sg::add(&State::bar, "x")}; });
        graph.addEdge(sg::START, "a");
        graph.addConditionalEdges("a", [](const State& state) { return state.n < 60 ? "a" : sg::END; });
        const App app = graph.compile({.checkpointer = store, .recursion_limit = 100});
        app.invoke(Update{}, {.thread_id = "t"});
        Meanwhile saver(store);
        saver.then = [&] { store->prune({.thread_id = "t", .keep_last = 2}); };
        std::ostringstream out;
        CHECK_THROWS_AS(sg::exportThread(saver, "t", out), sg::CorruptCheckpointError);
        CHECK(refusal(out.str()) != "");
        sg::MemorySaver other;
        imported(other, exported(saver, "t"));  // pruned, and whole
        CHECK(differences(rowsOf(other, "t"), rowsOf(*store, "t")) == "");
    });
}

TEST_CASE("random lines, changed at random, are imported as they are or refused, and never half") {
    const std::uint64_t seed = bytes::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const std::string plain = withoutSum(sample());
    for (std::size_t round = 0; round < fault::rounds(400); ++round) {
        CAPTURE(round);
        std::string text = random.chance(2) ? plain : sample();
        for (std::size_t times = 1 + random.below(3); times > 0; --times) {
            const std::size_t at = random.below(text.size());
            const std::size_t size = random.below(std::min<std::size_t>(40, text.size() - at));
            if (random.chance(3)) {
                text[at] = static_cast<char>(random.bits());
            } else if (random.chance(2)) {
                text.erase(at, size);
            } else {
                text.insert(at, text.substr(random.below(text.size()), size));
            }
        }
        sg::MemorySaver saver;
        std::istringstream in(text);
        try {
            const sg::ThreadRows rows = sg::importThread(saver, in);
            CHECK(rowsOf(saver, rows.thread_id).size() == rows.commits + rows.writes);
        } catch (const sg::CorruptCheckpointError& error) {
            CHECK(contains(error.what(), "line "));
            CHECK(saver.list({}).empty());
        } catch (const sg::InvalidArgumentError& error) {
            CHECK(contains(error.what(), "sealed"));
            CHECK(saver.list({}).empty());
        }
    }
}
