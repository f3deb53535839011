// SECONDS: 50
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/encrypted_saver.hpp>
#include <stategraph/messages.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/warm_threads.hpp>

#include "tests/golden/rows.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/encryption.hpp"
#include "tests/support/recording_saver.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/seed.hpp"

// Threads that stay in memory between runs: every result must be the same as without them.
namespace sg = stategraph;

namespace warm_threads {

struct Chat {
    int turn = 0;
    std::vector<std::string> list = {};
    std::vector<sg::Message> messages = {};
    std::map<std::string, int> facts = {{"initial", 0}};
    std::string last = "default";
    std::string once = {};
    int untracked = 3;

    static constexpr auto channels() {
        return sg::channels(sg::channel<&Chat::turn>(sg::sum), sg::channel<&Chat::list>(sg::append),
                            sg::channel<&Chat::messages>(sg::addMessages), sg::channel<&Chat::facts>(sg::merge),
                            sg::channel<&Chat::last>(), sg::channel<&Chat::once>(sg::ephemeral),
                            sg::channel<&Chat::untracked>(sg::untracked));
    }
};
using App = sg::CompiledGraph<Chat>;

/// Ids that are the same in every run of the test and never repeat.
class CountedIds final : public sg::IdSource {
public:
    std::chrono::system_clock::time_point now() override {
        const std::lock_guard lock(mutex_);
        return std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000) +
                                                     std::chrono::milliseconds(++calls_));
    }
    std::uint64_t uniqueBits() override {
        const std::lock_guard lock(mutex_);
        return 0x0123'4567'89AB'0000 + ++bits_;
    }

private:
    std::mutex mutex_;
    int calls_ = 0;
    std::uint64_t bits_ = 0;
};

constexpr sg::WarmThreads roomy{.bytes_max = std::size_t{1} << 20U};

App compiled(std::shared_ptr<sg::BaseCheckpointSaver> saver, std::shared_ptr<sg::IdSource> ids, sg::WarmThreads warm) {
    sg::StateGraph<Chat> graph;
    graph
        .addNode("answer",
                 [](const Chat& s, sg::Runtime& runtime) -> sg::Update<Chat> {
                     sg::Update<Chat> update{sg::add<&Chat::turn>(1), sg::set<&Chat::untracked>(s.untracked + 1)};
                     const std::string seen = std::to_string(s.turn) + s.last + std::to_string(s.untracked) + s.once;
                     update.with(sg::add<&Chat::list>(seen));
                     if (s.turn % 3 == 0) update.with(sg::set<&Chat::last>("last " + std::to_string(s.turn)));
                     if (s.turn % 4 == 1) update.with(sg::set<&Chat::once>("once"));
                     if (s.turn % 5 == 2) update.with(sg::add<&Chat::facts>({{"fact" + std::to_string(s.turn), 1}}));
                     if (s.turn % 7 == 4)
                         update.with(sg::add<&Chat::list>(sg::interrupt<std::string>(runtime, sg::Value("more?"))));
                     update.with(sg::add<&Chat::messages>(sg::Message{"ai", seen}));
                     return update;
                 })
        .addNode("check", [](const Chat& s) { return sg::add<&Chat::turn>(s.turn % 2); })
        .addEdge(sg::START, "answer")
        .addEdge("answer", "check")
        .addEdge("check", sg::END);
    return graph.compile({.checkpointer = std::move(saver), .ids = std::move(ids), .warm_threads = warm});
}

sg::Update<Chat> say(const std::string& text) {
    return {sg::add<&Chat::messages>(sg::Message{"user", text}), sg::add<&Chat::list>("said " + text)};
}

/// A store that two programs use.
struct World {
    World(std::shared_ptr<sg::BaseCheckpointSaver> store, sg::WarmThreads warm)
        : saver(std::move(store)), app(compiled(saver, ids, warm)), other(compiled(saver, ids, {})) {}

    std::shared_ptr<sg::BaseCheckpointSaver> saver;
    std::shared_ptr<sg::IdSource> ids = std::make_shared<CountedIds>();
    App app;
    App other;
    bool was_pruned = false;

    /// Performs one random step, the same in each world, and returns its result.
    std::string act(const drivers::Driver& driver, std::uint64_t number) {
        std::mt19937_64 random(number);
        const auto one = [&random](std::uint64_t of) { return random() % of == 0; };
        const sg::RunConfig config{
            .thread_id = one(4) ? "u" : "t",
            .durability = std::array{sg::Durability::async, sg::Durability::exit, sg::Durability::sync}[random() % 3]};
        const App& by = one(5) ? other : app;
        const std::string text = "text " + std::to_string(random() % 1000);
        try {
            switch (random() % 16) {
                case 0:
                    saver->deleteThread(config.thread_id.view());
                    return "deleted";
                case 1:
                    was_pruned = true;
                    return std::to_string(saver->prune({.thread_id = config.thread_id.toString(), .keep_last = 2}));
                case 2:
                    by.updateState({.thread_id = config.thread_id}, {sg::set<&Chat::last>(text)},
                                   {.as_node = "answer"});
                    return "edited";
                case 3: {
                    const auto old = saver->list(
                        {.thread_id = config.thread_id.toString(), .checkpoint_ns = "", .limit = 1 + random() % 5});
                    if (old.empty()) return "none";
                    sg::RunConfig from = config;
                    from.checkpoint_id = old.back().id;
                    return told(driver.run(by, say(text), from));
                }
                case 4:
                    return told(driver.run(by, sg::RESUME, config));
                case 5:
                case 6:
                    return told(driver.run(by, sg::resume(text), config));
                default:
                    return told(driver.run(by, say(text), config));
            }
        } catch (const sg::Error& error) {
            return error.what();
        }
    }

    template <class Outcome>
    static std::string told(const Outcome& outcome) {
        if (outcome.failed()) return outcome.what();
        return std::to_string(static_cast<int>(outcome.status)) + sg::toJson(outcome.values);
    }

    /// A prune gives a thread a new commit that holds the whole state. A warm thread still names the older commit as
    /// the base of what it stores, and that commit is kept as long as another one names it. These are the only bytes
    /// that differ.
    static std::string withoutBases(const std::string& rows) {
        std::istringstream lines(rows);
        std::string text;
        for (std::string line; std::getline(lines, line);) {
            const std::size_t record = line.rfind('\t') + 1;
            const std::string base = "646261736550";  // "base", and a text of 16 bytes
            const std::size_t at = line.find(base, record);
            if (line.starts_with("commit") && at != std::string::npos) {
                line.replace(at + base.size(), 32, 32, '0');
                line.replace(record + 2, 16, 16, '0');  // the checksum
            }
            text += line + '\n';
        }
        return text;
    }
    std::string stored() {
        std::string text = golden::rowsOf(*saver);
        if (was_pruned) text = withoutBases(text);
        for (const char* thread : {"t", "u"}) {
            const auto state = app.getState({.thread_id = thread});
            text += sg::toJson(state) + '\n' + sg::toJson(state.values) + '\n';
        }
        return text;
    }
};

// Performs forty random steps in a world with threads in memory and in one without, and returns how often runs began
// from memory.
std::uint64_t hitsOfOneWorld(std::shared_ptr<sg::BaseCheckpointSaver> store, const drivers::Driver& driver,
                             std::uint64_t& number) {
    World warm(std::move(store), roomy);
    World cold(std::make_shared<sg::MemorySaver>(), {});
    for (int i = 0; i < 40; ++i) {
        CAPTURE(number);
        const std::string came = warm.act(driver, ++number);
        CHECK(came == cold.act(driver, number));
        REQUIRE(warm.stored() == cold.stored());
    }
    for (const char* thread : {"t", "u"}) warm.saver->deleteThread(thread);
    return warm.app.warmThreadStats().hits;
}

TEST_CASE("random threads under two writers, edits, forks, prunes and deletes are stored as if none stayed in memory") {
    const std::uint64_t seed = tests::seed();
    INFO("repeat with STATEGRAPH_TEST_SEED=" << seed);
    std::uint64_t hits = 0;
    std::uint64_t number = seed;
    std::size_t turn = 0;
    savers::onEach([&](savers::Store& store) {
        for (const drivers::Driver& driver : drivers::all()) {
            if (turn++ % sanitized::one_of != sanitized::turn()) continue;
            CAPTURE(driver.name);
            hits += hitsOfOneWorld(store.open(), driver, number);
        }
    });
    // About 15 for each driver on each saver, and more than none with any seed.
    CHECK(hits > 0);
}

TEST_CASE("a prune that keeps a question and drops commits after it makes no run on a warm thread store otherwise") {
    // Prunes a random thread whose base has an open question.
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        std::uint64_t number = 2920;
        (void)hitsOfOneWorld(std::make_shared<sg::MemorySaver>(), driver, number);
    }
}

TEST_CASE("a thread that stays in memory is not read, and its runs count as hits") {
    const auto saver = std::make_shared<RecordingSaver>();
    const App app = compiled(saver, std::make_shared<CountedIds>(), roomy);
    for (const drivers::Driver& driver : drivers::all()) {
        CAPTURE(driver.name);
        const sg::RunConfig config{.thread_id = driver.name};
        const auto before = app.warmThreadStats();
        REQUIRE(driver.run(app, say("one"), config).what() == "");
        const std::size_t reads = saver->reads();
        const auto outcome = driver.run(app, say("two"), config);
        REQUIRE(outcome.what() == "");
        CHECK(saver->reads() == reads);
        CHECK(outcome.values.messages.size() == 4);
        CHECK(outcome.values.untracked == 4);
        const auto after = app.warmThreadStats();
        CHECK(after.misses == before.misses + 1);
        CHECK(after.hits == before.hits + 1);
        CHECK(after.threads == before.threads + 1);
        CHECK(after.bytes > before.bytes);
    }
}

TEST_CASE("getState of a thread that stays in memory does not read it, and the next run still begins from memory") {
    const auto saver = std::make_shared<RecordingSaver>();
    const App app = compiled(saver, std::make_shared<CountedIds>(), roomy);
    app.invoke(say("one"), {.thread_id = "t"});
    const std::size_t reads = saver->reads();
    const auto state = app.getState({.thread_id = "t"});
    CHECK(saver->reads() == reads);
    CHECK(sg::toJson(state) ==
          sg::toJson(compiled(saver, std::make_shared<CountedIds>(), {}).getState({.thread_id = "t"})));
    CHECK(state.values.untracked == 3);
    app.invoke(say("two"), {.thread_id = "t"});
    CHECK(app.warmThreadStats().hits == 1);
    CHECK(state.values.messages.size() == 2);

    // Another program writes, so what is in memory is outdated.
    compiled(saver, std::make_shared<CountedIds>(), {}).invoke(say("other"), {.thread_id = "t"});
    const auto other = compiled(saver, std::make_shared<CountedIds>(), {}).getState({.thread_id = "t"});
    CHECK(other.values.messages.size() > state.values.messages.size() + 2);
    CHECK(sg::toJson(app.getState({.thread_id = "t"})) == sg::toJson(other));
}

TEST_CASE("a thread is read by several threads while it runs from memory") {
    const App app = compiled(std::make_shared<sg::MemorySaver>(), std::make_shared<CountedIds>(), roomy);
    const auto runOnce = [&] {
        if (app.invoke(say("one"), {.thread_id = "t"}).status != sg::Status::done) {
            app.invoke(sg::resume("more"), {.thread_id = "t"});
        }
    };
    runOnce();
    std::atomic<bool> ended = false;
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&] {
            std::size_t seen = 0;
            while (!ended) {
                const std::size_t size = app.getState({.thread_id = "t"}).values.list.size();
                CHECK(size >= seen);
                seen = size;
            }
        });
    }
    for (int i = 0; i < 200; ++i) runOnce();
    ended = true;
    for (auto& reader : readers) reader.join();
    CHECK(app.warmThreadStats().hits > 0);
}

TEST_CASE("threads that no run has used go, by size and by age") {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const App small = compiled(saver, std::make_shared<CountedIds>(), {.bytes_max = 16000});
    for (int i = 0; i < 50; ++i) small.invoke(say("hello"), {.thread_id = "t" + std::to_string(i)});
    auto stats = small.warmThreadStats();
    CHECK(stats.bytes <= 16000);
    CHECK(stats.threads > 1);
    CHECK(stats.threads < 50);
    CHECK(stats.evictions == 50 - stats.threads);
    // A thread that is too large is not kept, and does not evict others.
    const auto before = stats.threads;
    small.invoke(say(std::string(4000, 'x')), {.thread_id = "large"});
    CHECK(small.warmThreadStats().threads == before);
    small.invoke(say("hello"), {.thread_id = "t49"});
    CHECK(small.warmThreadStats().hits == 1);

    const App brief = compiled(saver, std::make_shared<CountedIds>(),
                               {.bytes_max = 1 << 20, .idle_max = std::chrono::milliseconds(1)});
    brief.invoke(say("hello"), {.thread_id = "a"});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // sleeps: a lifetime ends
    brief.invoke(say("hello"), {.thread_id = "b"});
    stats = brief.warmThreadStats();
    CHECK(stats.threads == 1);
    CHECK(stats.evictions == 1);
    CHECK(compiled(saver, std::make_shared<CountedIds>(), {}).warmThreadStats().threads == 0);
    CHECK_THROWS_AS(compiled(saver, std::make_shared<CountedIds>(), {.idle_max = std::chrono::milliseconds(0)}),
                    sg::InvalidGraphError);
}

TEST_CASE("a run that fails or asks leaves nothing in memory, and the next one reads the thread") {
    const auto saver = std::make_shared<RecordingSaver>();
    const App app = compiled(saver, std::make_shared<CountedIds>(), roomy);
    const sg::RunConfig config{.thread_id = "t"};
    bool asked = false;
    for (int i = 0; i < 12; ++i) {
        const auto result = app.invoke(say("hello"), config);
        CHECK(app.warmThreadStats().threads == (result.status == sg::Status::done ? 1 : 0));
        if (result.status == sg::Status::done) continue;
        asked = true;
        app.invoke(sg::resume("more"), config);
    }
    CHECK(asked);
    // A saver that fails at each of its puts in turn.
    for (std::size_t failing = 0; failing < 6; ++failing) {
        CAPTURE(failing);
        std::size_t puts = 0;
        saver->before_put = [&](std::size_t) {
            if (puts++ == failing) throw sg::SaverError("the disk is full");
        };
        std::string why;
        try {
            app.invoke(say("hello"), config);
        } catch (const sg::SaverError& error) {
            why = error.what();
        }
        if (!why.empty()) CHECK(app.warmThreadStats().threads == 0);
        saver->before_put = nullptr;
        const auto head = app.getState({.thread_id = "t"});
        if (!head.tasks.empty()) app.invoke(sg::RESUME, config);
    }
    const auto read = compiled(saver, std::make_shared<CountedIds>(), {}).getState({.thread_id = "t"}).values;
    const auto result = app.invoke(say("last"), config);
    CHECK(result.values.list.size() > read.list.size());
    CHECK(std::equal(read.list.begin(), read.list.end(), result.values.list.begin()));
}

TEST_CASE("encrypted threads stay in memory too") {
    const auto saver = std::make_shared<sg::EncryptedSaver>(std::make_shared<sg::MemorySaver>(), encryption::key("k"));
    const App app = compiled(saver, std::make_shared<CountedIds>(), roomy);
    for (int i = 0; i < 2; ++i) app.invoke(say("hello"), {.thread_id = "t"});
    CHECK(app.warmThreadStats().hits == 1);
    CHECK(app.getState({.thread_id = "t"}).values.messages.size() == 4);
}

}  // namespace warm_threads
