// SECONDS: 50
// ALSO PLAIN: each driver on each store
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/answer.hpp>
#include <stategraph/fork.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/thread_index.hpp"
#include "tests/support/waiting_graph.hpp"
#include "tests/support/without_index.hpp"

// The index of threads finds what reading all threads finds, whatever is done to them and by any driver.
using namespace graphs;
using waiting::begin;
using waiting::waitingGraph;

namespace {

using Found = std::vector<std::pair<std::string, std::string>>;

Found foundBy(sg::BaseCheckpointSaver& saver, const sg::UnfinishedQuery& query = {}) {
    Found found;
    for (const auto& thread : saver.unfinishedThreads(query))
        found.emplace_back(thread.thread_id, sg::toString(thread.reason));
    return found;
}

sg::Status statusOf(sg::BaseCheckpointSaver& saver, const std::string& thread_id) {
    const auto threads = saver.newestThreads({.limit = 1'000'000});
    for (const sg::IndexedThread& thread : *threads) {
        if (thread.place.thread_id == thread_id) return thread.outlook.status;
    }
    FAIL("'" << thread_id << "' is not in the index");
    return {};
}

// Checks each status and all of them together. After a look, only threads in flight are unknown.
void checkSame(sg::BaseCheckpointSaver& saver) {
    CHECK(wrongInIndex(saver) == std::vector<std::string>());
    WithoutIndex plain(saver);
    for (const auto reason : {sg::Status::interrupted, sg::Status::failed, sg::Status::breakpoint, sg::Status::limit,
                              sg::Status::cancelled, sg::Status::timed_out, sg::Status::sleeping, sg::Status::edited,
                              sg::Status::in_flight, sg::Status::damaged}) {
        CAPTURE(reason);
        CHECK(foundBy(saver, {.reason = reason}) == foundBy(plain, {.reason = reason}));
    }
    const Found all = foundBy(plain);
    CHECK(foundBy(saver) == all);
    CHECK(wrongInIndex(saver) == std::vector<std::string>());
    const auto in_flight = foundBy(plain, {.reason = sg::Status::in_flight}).size();
    CHECK((*saver.countThreads(1'000'000))[sg::Status::in_flight] == in_flight);
    std::vector<sg::DueThread> sleeping;
    for (const auto& thread : plain.unfinishedThreads({.reason = sg::Status::sleeping}))
        sleeping.push_back({*thread.wake_at, thread.thread_id});
    std::ranges::sort(sleeping);
    CHECK(*saver.dueThreads({.limit = 1'000'000}) == sleeping);
}

/// Passes on what a writer reports, or something else.
class Saying final : public sg::BaseCheckpointSaver {
public:
    using Say = std::function<sg::ThreadOutlook(const sg::PutRequest&)>;
    Saying(sg::BaseCheckpointSaver& inner, Say say) : inner_(inner), say_(std::move(say)) {}

    void put(const sg::PutRequest& request) override {
        sg::PutRequest other = request;
        {
            const std::lock_guard lock(mutex_);  // tasks of a superstep store at the same time
            other.outlook = say_(request);
        }
        inner_.put(other);
    }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override { return inner_.getTuple(query); }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override { return inner_.list(query); }
    void deleteThread(std::string_view thread_id) override { inner_.deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { inner_.copyThread(from, to); }
    std::size_t prune(const sg::PruneRequest& request) override { return inner_.prune(request); }

private:
    sg::BaseCheckpointSaver& inner_;
    std::mutex mutex_;
    Say say_;
};

/// Does something in between, as another process might.
class Between final : public sg::BaseCheckpointSaver {
public:
    explicit Between(sg::BaseCheckpointSaver& inner) : inner_(inner) {}
    /// Called once, before a request that compares pending writes.
    std::function<void()> before_telling;

    void put(const sg::PutRequest& request) override {
        if (!request.compared.empty() && before_telling) std::exchange(before_telling, nullptr)();
        inner_.put(request);
    }
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override { return inner_.getTuple(query); }
    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override { return inner_.list(query); }
    void deleteThread(std::string_view thread_id) override { inner_.deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { inner_.copyThread(from, to); }
    std::size_t prune(const sg::PruneRequest& request) override { return inner_.prune(request); }
    std::optional<std::vector<sg::IndexedThread>> openThreads(const sg::OpenThreadsQuery& query) override {
        return inner_.openThreads(query);
    }

private:
    sg::BaseCheckpointSaver& inner_;
};

void run(const App& app, const std::string& thread, const std::string& what,
         sg::Durability durability = sg::Durability::async) {
    try {
        (void)app.invoke(begin(what), {.thread_id = thread, .durability = durability, .recursion_limit = 5});
    } catch (const sg::Error&) {
        // Some of these fail as expected.
    }
}

}  // namespace

TEST_CASE("runs of every driver and durability say themselves what their threads wait for") {
    // The other stores run every fifth case, each another fifth, as they are slow; with a sanitizer the first one too.
    bool is_first_store = sanitized::one_of == 1;
    std::size_t turn = sanitized::turn();
    savers::onEach([&](savers::Store& store) {
        const bool all = std::exchange(is_first_store, false);
        const auto saver = store.open();
        const App app = waitingGraph().compile({.checkpointer = saver, .interrupt_before = {"stop"}});
        ++turn;
        for (const drivers::Driver& driver : drivers::crossed()) {
            for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
                for (const auto& [what, status] : waiting::outcomes) {
                    if (!all && turn++ % 5 != 0) continue;
                    const std::string thread =
                        std::string(driver.name) + " " + what + " " + std::to_string(static_cast<int>(durability));
                    CAPTURE(thread);
                    (void)driver.run(app, begin(what),
                                     {.thread_id = thread, .durability = durability, .recursion_limit = 5});
                    const sg::Status told = statusOf(*saver, thread);
                    CHECK(toString(told) == std::string(toString(status)));
                }
            }
        }
        checkSame(*saver);
    });
}

TEST_CASE("a run on a slow saver, a fork, an edit and a cancel say themselves what the thread waits for") {
    using sg::Status;
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto slow = std::make_shared<sg::testing::FaultSaver>(saver, sg::testing::FaultPlan{}, true);
        const App app = waitingGraph().compile({.checkpointer = slow, .interrupt_before = {"stop"}});
        for (const auto& [what, status] : waiting::outcomes) {
            CAPTURE(what);
            run(app, what, what);
            CHECK((statusOf(*saver, what) == status));
        }
        (void)sg::fork(*slow, {.thread_id = "ends"});
        CHECK((statusOf(*saver, "ends") == Status::done));
        (void)sg::fork(*slow, {.thread_id = "asks"});
        CHECK((statusOf(*saver, "asks") == Status::edited));
        app.updateState({.thread_id = "fails"}, Update{sg::add(&State::n, 1)});
        CHECK((statusOf(*saver, "fails") == Status::edited));
        REQUIRE(app.cancelThread("sleeps"));
        CHECK((statusOf(*saver, "sleeps") == Status::done));
        REQUIRE(app.cancelThread("breaks", {.ends_run = false}));
        CHECK((statusOf(*saver, "breaks") == Status::done));
        (void)app.submit(begin("ends"), {.thread_id = "submitted"});
        CHECK((statusOf(*saver, "submitted") == Status::in_flight));
        const auto stopped = std::make_shared<sg::RunControl>();
        stopped->requestStop();
        (void)app.invoke(begin("ends"), {.thread_id = "stopped", .control = stopped});
        CHECK((statusOf(*saver, "stopped") == Status::cancelled));
        checkSame(*saver);
    });
}

TEST_CASE("a look at the threads of a full memory saver evicts none") {
    const auto saver = std::make_shared<sg::MemorySaver>(
        sg::MemorySaverOptions{.bytes_max = 40'000, .when_full = sg::WhenFull::evict});
    const App app = waitingGraph().compile({.checkpointer = saver});
    for (int i = 0; saver->evictedThreads() == 0; ++i) run(app, "thread " + std::to_string(i), "ends");
    const auto before = saver->evictedThreads();
    const std::size_t threads = saver->list({.checkpoint_ns = "", .heads = true}).size();
    for (const auto& head : saver->list({.checkpoint_ns = "", .heads = true})) {
        for (int times = 0; times < 100; ++times)
            saver->put({.log = {head.thread_id},
                        .expected_head = head.id,
                        .commits = {},
                        .writes = {},
                        .outlook = {sg::Status::done, {}}});
    }
    CHECK(saver->evictedThreads() == before);
    CHECK(saver->countThreads(1000)->done() == threads);
}

TEST_CASE("a writer that says nothing, or what is not so, makes no list wrong, and a look mends the index") {
    for (const bool lies : {false, true}) {
        CAPTURE(lies);
        savers::onEach([&](savers::Store& store) {
            constexpr std::uint64_t seed = 77;
            std::mt19937_64 random(seed);
            const auto saver = store.open();
            // A writer that says that a thread is finished is believed.
            const auto saying = std::make_shared<Saying>(*saver, [&](const sg::PutRequest& request) {
                if (!lies || request.outlook.status == sg::Status::done) return sg::ThreadOutlook();
                const auto status = sg::indexed_statuses[random() % sg::indexed_statuses.size()];
                if (status == sg::Status::done) return sg::ThreadOutlook();
                if (status != sg::Status::sleeping) return sg::ThreadOutlook{status, {}};
                return sg::ThreadOutlook{status, std::chrono::system_clock::now()};
            });
            const App app = waitingGraph().compile({.checkpointer = saying, .interrupt_before = {"stop"}});
            for (int i = 0; i < 3; ++i) {
                for (const auto& [what, status] : waiting::outcomes) run(app, what + std::to_string(i), what);
            }
            WithoutIndex plain(*saver);
            const Found all = foundBy(plain);
            for (const auto reason : {sg::Status::interrupted, sg::Status::sleeping, sg::Status::failed}) {
                for (const auto& found : foundBy(*saver, {.reason = reason}))
                    CHECK(std::ranges::find(all, found) != all.end());
            }
            CHECK(foundBy(*saver) == all);
            checkSame(*saver);
        });
    }
}

TEST_CASE("an answer that comes while a run ends, or while somebody looks, leaves the thread to be resumed") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto between = std::make_shared<Between>(*saver);
        const App app = waitingGraph().compile({.checkpointer = between});
        for (const char* what : {"two ask", "one asks, one fails"}) {
            CAPTURE(what);
            const std::string thread = what;
            bool is_answered = false;
            // Another process writes, so the run that ends does not know.
            between->before_telling = [&] {
                const auto open = app.getState({.thread_id = thread}).interrupts();
                std::vector<sg::Answer> answers;
                for (const auto& asked : open) answers.emplace_back(asked.id, sg::Value("yes"));
                (void)sg::answer(*saver, {.thread_id = thread}, answers);
                is_answered = true;
            };
            run(app, thread, what);
            CHECK(is_answered);
            CHECK((statusOf(*saver, thread) == sg::Status::in_flight));
            checkSame(*saver);
        }
        // A caller that lists threads updates the index, which knows nothing about a copy.
        run(app, "asks", "asks");
        saver->copyThread("asks", "copy");
        const auto head = saver->list({.thread_id = "copy", .checkpoint_ns = ""})[0].id;
        saver->put({.log = {"copy"}, .expected_head = head, .commits = {}, .writes = {}});
        between->before_telling = [&] { (void)sg::answer(*saver, {.thread_id = "copy"}, sg::Value("yes")); };
        CHECK(between->unfinishedThreads({.reason = sg::Status::interrupted}).size() == 2);
        CHECK((statusOf(*saver, "copy") == sg::Status::in_flight));
        CHECK(foundBy(*saver, {.reason = sg::Status::in_flight}).size() == 3);
    });
}

TEST_CASE("a put that fails leaves the index as right as it was") {
    for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
        for (const bool after : {false, true}) {
            for (const auto& [what, status] : waiting::outcomes) {
                CAPTURE(what);
                CAPTURE(after);
                savers::onEach([&](savers::Store& store) {
                    const auto saver = store.open();
                    const auto faults = std::make_shared<sg::testing::FaultSaver>(saver);
                    const App app = waitingGraph().compile({.checkpointer = faults, .interrupt_before = {"stop"}});
                    for (std::size_t at = 1;; ++at) {
                        CAPTURE(at);
                        using sg::testing::SaverCalls;
                        faults->arm(
                            {.fail_at = at, .after_effect = after, .calls = SaverCalls::put | SaverCalls::tell});
                        run(app, std::to_string(at), what, durability);
                        CHECK(wrongInIndex(*saver) == std::vector<std::string>());
                        if (faults->failures() == 0) break;
                        REQUIRE(at < 100);
                    }
                });
            }
        }
    }
}

TEST_CASE("the index agrees with the threads after any sequence of runs, edits, forks, answers, cancels and prunes") {
    savers::onEach([](savers::Store& store) {
        constexpr std::uint64_t seed = 1711;
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random() % count); };
        const auto saver = store.open();
        const App app = waitingGraph().compile({.checkpointer = saver, .interrupt_before = {"stop"}});
        for (unsigned i = 0; i < sanitized::some(200); ++i) {
            const std::string thread = "thread " + std::to_string(pick(8));
            const Update input = begin(waiting::outcomes[pick(waiting::outcomes.size())].first);
            try {
                switch (pick(11)) {
                    case 0:
                        (void)app.updateState({.thread_id = thread}, input);
                        break;
                    case 1:
                        (void)sg::fork(*saver, {.thread_id = thread});
                        break;
                    case 2:
                        (void)sg::answer(*saver, {.thread_id = thread}, sg::Value("yes"));
                        break;
                    case 3:
                        (void)app.cancelThread(thread, {.ends_run = pick(2) == 0});
                        break;
                    case 4:
                        (void)saver->prune({.keep_last = 1});
                        break;
                    case 5:
                        saver->copyThread(thread, "copy " + std::to_string(i));
                        break;
                    case 6:
                        saver->deleteThread(thread);
                        break;
                    case 7:
                        (void)app.invoke(sg::RESUME, {.thread_id = thread, .recursion_limit = 5});
                        break;
                    case 8:
                        (void)app.submit(input, {.thread_id = thread});
                        break;
                    default:
                        (void)app.invoke(input, {.thread_id = thread, .recursion_limit = 5});
                }
            } catch (const sg::Error&) {
                // There is nothing to answer, to fork or to resume, or a node fails.
            }
            CHECK(wrongInIndex(*saver) == std::vector<std::string>());
            if (i % 10 == 9) checkSame(*saver);
        }
        checkSame(*saver);
    });
}
