#include <algorithm>
#include <functional>
#include <sstream>

#include <stategraph/export.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "src/checkpoint/record.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/commands/exports.hpp"
#include "tests/commands/threads.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/support/door.hpp"

// Lines of JSON that become threads, or are refused as a whole.
using namespace graphs;
using namespace commands_test;
using namespace exports;

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

TEST_CASE("a thread that was forked at old checkpoints is imported into every saver") {
    const auto source = std::make_shared<sg::MemorySaver>();
    const App app = appOf(source);
    makeThread(app, *source, "t");
    for (const std::size_t back : {3U, 5U}) {
        const auto past = source->list({.thread_id = "t", .checkpoint_ns = ""});
        sg::fork(*source, {.thread_id = "t", .checkpoint_id = past.at(back).id});
        app.invoke(sg::RESUME, {.thread_id = "t"});
    }
    const std::string text = exported(*source, "t");
    onSavers([&](const Saver& saver) {
        imported(*saver, text);
        CHECK(differences(rowsOf(*saver, "t"), rowsOf(*source, "t")) == "");
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
        if (base64 == std::string::npos || contains(lines[i], "\"graph\"")) continue;  // which has no checksum
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
    header("\"version\":1", "\"version\":0", "version 0");
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
    refuses(lines.size() - 1, R"({"end":true,"commits":1,"writes":0,"graphs":2})", "counts 1 commits");
    refuses(lines.size() - 1, R"({"end":false,"commits":1,"writes":0,"graphs":2})", "must be true");
    std::string sum = sample();
    sum.replace(sum.find("pull:ask"), 8, "pull:asK");
    CHECK(contains(refusal(sum), "checksum"));
    CHECK(contains(refusal(textOf({lines[0], R"({"end":true,"commits":0,"writes":0,"graphs":0})"})), "no commits"));
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
                CHECK(exported(saver, "t") == sampleWithoutGraphs());
            }
            CHECK(n > 4);
        }
    }
}

TEST_CASE("a thread that another process makes while one of its name is imported stays, however the import fails") {
    struct Meanwhile final : Door {
        using Door::Door;
        std::function<void()> then;
        bool fails = false;
        void put(const sg::PutRequest& request) override {
            if (then && request.log.checkpoint_ns.empty()) {
                std::exchange(then, {})();
                if (fails) throw sg::SaverError("the disk is full");
            }
            Door::put(request);
        }
    };
    for (const bool fails : {false, true}) {
        CAPTURE(fails);
        onSavers([fails](const Saver& store) {
            Meanwhile saver(store);
            saver.fails = fails;
            Graph graph;
            graph.addNode("a", appends("a")).addEdge(sg::START, "a");
            const App app = graph.compile({.checkpointer = store});
            saver.then = [&] { app.invoke(bar("i"), {.thread_id = "t"}); };
            std::string why;
            if (fails)
                why = thrown<sg::SaverError>([&] { imported(saver, sample()); }).what();
            else
                why = thrown<sg::ConcurrentUpdateError>([&] { imported(saver, sample()); }).what();
            CHECK(contains(why, "another process made the thread"));
            CHECK(contains(why, "the disk is full") == fails);
            CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"i", "a"});
        });
    }
}

TEST_CASE("random lines, changed at random, are imported as they are or refused, and never half") {
    const std::uint64_t seed = tests::seed();
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
