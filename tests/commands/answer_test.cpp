#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include <stategraph/answer.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "src/checkpoint/paths.hpp"
#include "src/checkpoint/record.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/commands/threads.hpp"
#include "tests/fault/rounds.hpp"
#include "tests/support/door.hpp"

// Answers that are stored without a run.
using namespace graphs;
using namespace commands_test;

namespace {

const sg::RunConfig one_at_a_time{.thread_id = "t", .max_concurrency = 1};

// Catches the rows that a run with this Command stores first, before anything of it runs.
class FirstPut final : public Door {
public:
    using Door::Door;
    Rows rows;
    void put(const sg::PutRequest& request) override {
        if (is_on && rows.empty()) {
            for (const auto& write : request.writes) rows[std::string(write.path)] = write.bytes;
        }
        Door::put(request);
    }
    bool is_on = false;
};

std::vector<sg::Interrupt> askedIn(sg::BaseCheckpointSaver& saver, const std::string& thread) {
    for (const auto& each : saver.unfinishedThreads()) {
        if (each.thread_id == thread) return each.interrupts;
    }
    return {};
}

std::string message(const std::function<void()>& call) { return thrown<sg::InvalidArgumentError>(call).what(); }

}  // namespace

TEST_CASE("a stored answer is what a resumed run stores first, and recover takes it") {
    onSavers([](const Saver& store) {
        const auto saver = std::make_shared<FirstPut>(store);
        const App app = askingApp(saver);
        app.invoke(bar("i"), one_at_a_time);
        saver->copyThread("t", "run");
        const std::vector<sg::Interrupt> asked = askedIn(*saver, "t");
        REQUIRE(asked.size() == 6);
        std::vector<sg::Answer> answers;
        for (const auto& each : asked) answers.emplace_back(each.id, "!");

        saver->is_on = true;
        const auto by_run = app.invoke(sg::resume(answers), {.thread_id = "run", .max_concurrency = 1});
        const Rows stored_by_run = std::exchange(saver->rows, {});
        CHECK(sg::answer(*saver, {.thread_id = "t"}, answers).empty());
        CHECK(saver->rows == stored_by_run);
        saver->is_on = false;
        CHECK(stored_by_run.size() == 5);

        CHECK(reasonOf(*saver, "t") == "in_flight");
        const auto report = app.recover({.run = {.max_concurrency = 1}});
        REQUIRE(report.size() == 1);
        CHECK((report[0].status == sg::Status::done));
        CHECK(app.getState({.thread_id = "t"}).values == by_run.values);
        CHECK(differences(rowsOf(*saver, "t"), rowsOf(*saver, "run")) == "");
    });
}

TEST_CASE(
    "answers that come one after the other, by id and by key, leave the thread interrupted until a task has all") {
    onSavers([](const Saver& saver) {
        const App app = askingApp(saver);
        app.invoke(bar("i"), one_at_a_time);
        const sg::Config t{.thread_id = "t"};
        auto left = sg::answer(*saver, t, {{"first", "1"}});
        REQUIRE(left.size() == 5);
        CHECK(left[0].key != "first");
        CHECK(reasonOf(*saver, "t") == "interrupted");  // the task has another question
        left = sg::answer(*saver, t, {{"second", "2"}});
        CHECK(left.size() == 4);
        CHECK(reasonOf(*saver, "t") == "in_flight");
        while (left.size() > 1) left = sg::answer(*saver, t, {{left.back().id, "!"}});
        REQUIRE(left.size() == 1);
        CHECK(sg::answer(*saver, t, "only").empty());
        CHECK((app.recover({.run = {.max_concurrency = 1}}).at(0).status == sg::Status::done));
        const auto values = app.getState(t).values.bar;
        CHECK(std::ranges::find(values, "first1") != values.end());
        CHECK(std::ranges::find(values, "second2") != values.end());
        CHECK(values.back() == "z");
    });
}

TEST_CASE("a question of a subgraph is answered with the thread, and its snapshot shows it answered") {
    onSavers([](const Saver& saver) {
        const App app = askingApp(saver);
        app.invoke(bar("i"), one_at_a_time);
        sg::TaskId deep;
        for (const auto& asked : askedIn(*saver, "t")) {
            if (asked.value == sg::Value("what for deep?")) deep = asked.id;
        }
        REQUIRE(!deep.empty());
        sg::answer(*saver, {.thread_id = "t"}, {{deep, "down"}});
        for (const auto& left : app.getState({.thread_id = "t"}, {.subgraphs = true}).interrupts())
            CHECK(left.id != deep);
        const auto stopped = app.invoke(sg::RESUME, one_at_a_time);
        CHECK(stopped.interrupts.size() == 5);
        CHECK(std::ranges::find(stopped.values.bar, "deep:down") != stopped.values.bar.end());
    });
}

TEST_CASE("after an answer a thread is in flight, however its last run ended") {
    onSavers([](const Saver& saver) {
        for (const std::string how :
             {"failed", "sleeping", "breakpoint", "limit", "cancelled", "timed_out", "edited"}) {
            CAPTURE(how);
            Log log;
            Graph graph;
            bool is_mended = false;
            graph.addNode("ask", asks(log, "ask")).addEdge(sg::START, "ask");
            graph.addNode("beside", [&](const State&, sg::Runtime& rt) -> Update {
                if (is_mended) return {};
                if (how == "failed") throw std::runtime_error("broken");
                if (how == "sleeping") rt.sleepUntil(std::chrono::system_clock::now() + std::chrono::hours(1));
                return {};
            });
            graph.addEdge(sg::START, "beside");
            const App app = graph.compile({.checkpointer = saver});
            const sg::RunConfig config{.thread_id = how, .max_concurrency = 1};
            try {
                app.invoke(bar("i"), config);
            } catch (const sg::NodeError&) {
            }
            if (how != "failed" && how != "sleeping") {  // a note that a run, or an edit, of any program may have left
                const auto tuple = saver->getTuple({.log = {how}});
                sg::checkpoint::TaskFields note;
                note.node = how;
                std::string record;
                sg::checkpoint::writeTask(tuple->id, note, record);
                const sg::WriteRow row{tuple->id, sg::checkpoint::run_path, record};
                saver->putWrites({how}, tuple->head, {&row, 1});
            }
            CHECK(reasonOf(*saver, how) == how);
            is_mended = true;
            CHECK(sg::answer(*saver, {.thread_id = how}, "yes").empty());
            CHECK(reasonOf(*saver, how) == "in_flight");
            const auto report = app.recover();
            REQUIRE(report.size() == 1);
            CHECK(report[0].why == "");
            CHECK(app.getState({.thread_id = how}).values.bar == Strings{"i", "ask:yes"});
        }
    });
}

TEST_CASE("what cannot be answered is refused with a reason, and nothing is stored") {
    onSavers([](const Saver& saver) {
        const App app = askingApp(saver);
        const App line = [&] {
            Graph graph;
            graph.addNode("a", appends("a")).addEdge(sg::START, "a");
            return graph.compile({.checkpointer = saver});
        }();
        line.invoke(bar("i"), {.thread_id = "done"});
        app.invoke(bar("i"), one_at_a_time);
        const sg::Config t{.thread_id = "t"};
        const auto asked = askedIn(*saver, "t");
        const Rows before = rowsOf(*saver, "t");
        const auto refused = [&](const sg::Config& config, std::vector<sg::Answer> answers, const Strings& parts) {
            const std::string text = message([&] { sg::answer(*saver, config, answers); });
            for (const std::string& part : parts) {
                CAPTURE(text);
                CHECK(contains(text, part));
            }
            CHECK(differences(rowsOf(*saver, "t"), before) == "");
        };
        refused({.thread_id = "nobody"}, {{"first", "1"}}, {"no checkpoint", "'nobody'"});
        refused({.thread_id = "done"}, {{"first", "1"}}, {"no open interrupt", "none is open", "'done'"});
        refused({}, {{"first", "1"}}, {"no thread_id"});
        refused({.thread_id = "t", .checkpoint_ns = "sub"}, {{"first", "1"}}, {"leave checkpoint_ns out"});
        refused(t, {}, {"no answers"});
        refused(t, {{"third", "1"}},
                {"no open interrupt has the key 'third'", "open are:", "'first' (two): \"first?\""});
        refused(t, {{sg::TaskId(1, 2), "1"}}, {"no open interrupt has the id 0000"});
        refused(t, {{"first", "1"}, {asked[0].id, "1"}, {asked[0].id, "2"}}, {"answered twice"});
        CHECK(contains(message([&] { sg::answer(*saver, t, "1"); }), "several interrupts are open"));
        const auto past = [&] {
            std::vector<sg::Config> configs;
            for (const auto& snapshot : app.getStateHistory(t)) configs.push_back(snapshot.config);
            return configs;
        }();
        refused(past.at(1), {{"first", "1"}}, {"not the thread's newest", past[0].checkpoint_id.toString(), "fork"});
        CHECK_NOTHROW(sg::answer(*saver, past.at(0), {{"first", "1"}}));

        const std::string again = message([&] { sg::answer(*saver, t, {{"first", "other"}}); });
        CHECK(contains(again, "'first' is answered already"));
        const std::string by_run = message([&] { app.invoke(sg::resume({{"first", "other"}}), one_at_a_time); });
        CAPTURE(by_run);
        CHECK(contains(by_run, "'first' is answered already"));
        CHECK(app.cancelThread("t"));
        CHECK(contains(message([&] { sg::answer(*saver, t, {{"second", "2"}}); }), "was cancelled"));
        app.invoke(bar("i"), {.thread_id = "noted", .max_concurrency = 1});
        CHECK(app.cancelThread("noted", {.ends_run = false}));
        CHECK(contains(message([&] {
                           sg::answer(*saver, {.thread_id = "noted"}, {{"first", "1"}});
                       }),
                       "was cancelled"));
        CHECK(reasonOf(*saver, "noted") == "done");
    });
}

TEST_CASE("a damaged record is named, and the answer is not stored") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App app = askingApp(saver);
    app.invoke(bar("i"), one_at_a_time);
    const auto tuple = saver->getTuple({.log = {"t"}});
    std::string torn = tuple->writes.at(0).bytes;
    torn.back() = static_cast<char>(torn.back() ^ 1);
    const sg::WriteRow row{tuple->id, tuple->writes[0].path, torn};
    saver->putWrites({"t"}, tuple->head, {&row, 1});
    const auto error = thrown<sg::CorruptCheckpointError>([&] {
        sg::answer(*saver, {.thread_id = "t"}, {{"first", "1"}});
    });
    CHECK(contains(error.what(), tuple->writes[0].path));
    CHECK(reasonOf(*saver, "t") == "damaged");
}

TEST_CASE("of two answers to one question at once exactly one is stored") {
    onSavers([](const Saver& saver) {
        Log log;
        Graph graph;
        graph.addNode("ask", asks(log, "ask")).addEdge(sg::START, "ask");
        const App app = graph.compile({.checkpointer = saver});
        for (std::size_t round = 0; round < fault::rounds(20); ++round) {
            const std::string thread = "t" + std::to_string(round);
            app.invoke(Update{}, {.thread_id = thread});
            constexpr std::size_t rivals = 4;
            Meeting meeting(rivals);
            std::atomic<int> won = 0;
            std::atomic<int> refused = 0;
            std::atomic<std::size_t> winner = rivals;
            std::vector<std::thread> threads;
            for (std::size_t i = 0; i < rivals; ++i) {
                threads.emplace_back([&, i] {
                    Door door(saver);  // as of another process: no claim is shared
                    meeting.arrive();
                    try {
                        sg::answer(i % 2 == 0 ? *saver : door, {.thread_id = thread}, std::to_string(i),
                                   {.on_busy = sg::OnBusy::wait});
                        ++won;
                        winner = i;
                    } catch (const sg::InvalidArgumentError& error) {
                        refused += contains(error.what(), "answered already");
                    }
                });
            }
            for (auto& each : threads) each.join();
            CHECK(won == 1);
            CHECK(refused == rivals - 1);
            CHECK(app.invoke(sg::RESUME, {.thread_id = thread}).values.bar ==
                  Strings{"ask:" + std::to_string(winner.load())});
        }
    });
}

TEST_CASE("a run that is under way on the thread is not answered from outside") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    Log log;
    Graph graph;
    std::string said;
    graph.addNode("ask", asks(log, "ask")).addEdge(sg::START, "ask");
    graph.addNode("slow", [&](const State&) -> Update {
        try {
            sg::answer(*saver, {.thread_id = "t"}, "too early");
        } catch (const sg::ThreadBusyError& error) {
            said = error.what();
        }
        return {};
    });
    graph.addEdge(sg::START, "slow");
    const App app = graph.compile({.checkpointer = saver});
    app.invoke(Update{}, one_at_a_time);
    CHECK(contains(said, "'t'"));
    CHECK(sg::answer(*saver, {.thread_id = "t"}, "now").empty());
    CHECK(app.invoke(sg::RESUME, one_at_a_time).values.bar == Strings{"ask:now"});
}

TEST_CASE("a saver that fails at any of its calls leaves an answer stored or not, and the thread whole") {
    for (const bool after_effect : {false, true}) {
        std::size_t n = 1;
        for (bool failed = true; failed; ++n) {
            CAPTURE(n);
            REQUIRE(n < 100);
            const auto saver = std::make_shared<sg::testing::FaultSaver>(std::make_shared<sg::MemorySaver>());
            Log log;
            Graph graph;
            graph.addNode("ask", asks(log, "ask")).addEdge(sg::START, "ask");
            const App app = graph.compile({.checkpointer = saver});
            app.invoke(Update{}, one_at_a_time);
            saver->arm({.fail_at = n, .after_effect = after_effect});
            failed = false;
            try {
                sg::answer(*saver, {.thread_id = "t"}, "yes");
            } catch (const sg::SaverError&) {
                failed = true;
            }
            saver->disarm();
            CHECK(failed == (saver->failures() > 0));
            const std::string reason = reasonOf(*saver, "t");
            CHECK((reason == "in_flight" || reason == "interrupted"));
            if (reason == "interrupted") sg::answer(*saver, {.thread_id = "t"}, "yes");
            CHECK((app.recover().at(0).status == sg::Status::done));
            CHECK(app.getState({.thread_id = "t"}).values.bar == Strings{"ask:yes"});
        }
        CHECK(n > 2);
    }
}

TEST_CASE("random answers, some stored and some given to runs, come to what runs alone come to") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    for (std::size_t round = 0; round < fault::rounds(30); ++round) {
        CAPTURE(round);
        const auto saver = std::make_shared<sg::MemorySaver>();
        const auto mends = std::make_shared<bool>(random.chance(2));
        const App app = askingApp(saver, mends);
        const auto runs = [&](const std::string& thread, auto input) {
            try {
                app.invoke(std::move(input), {.thread_id = thread, .max_concurrency = 1});
            } catch (const sg::NodeError&) {
            }
        };
        for (const char* thread : {"stored", "run"}) runs(thread, bar("i"));
        for (int step = 0; step < 50; ++step) {
            const auto open = askedIn(*saver, "run");
            if (open.empty()) break;
            std::vector<sg::Answer> answers;
            for (const auto& each : open) {
                if (random.chance(2)) answers.emplace_back(each.id, std::to_string(random.below(10)));
            }
            if (answers.empty()) continue;
            *mends = *mends || random.chance(3);
            runs("run", sg::resume(answers));
            if (random.chance(2)) {
                sg::answer(*saver, {.thread_id = "stored"}, answers);
                if (random.chance(2)) continue;  // more answers before any run
                runs("stored", sg::RESUME);
            } else {
                runs("stored", sg::resume(answers));
            }
        }
        *mends = true;
        runs("stored", sg::RESUME);
        runs("run", sg::RESUME);
        CHECK(reasonOf(*saver, "stored") == "done");
        CHECK(app.getState({.thread_id = "stored"}).values == app.getState({.thread_id = "run"}).values);
    }
}
