// ALSO PLAIN: it forks while threads run
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/leased_saver.hpp>
#include <stategraph/postgres_queue.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/async/support.hpp"
#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/fixed_ids.hpp"
#include "tests/support/history_savers.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/until.hpp"

// Asynchronous calls of the PostgreSQL saver, and awaited runs that use them.
using namespace graphs;
using namespace std::chrono_literals;
using postgres_tests::Raw;
using postgres_tests::Schema;
using postgres_tests::Server;

namespace {

/// Asynchronous puts of one commit each, to threads of their own.
class Puts {
public:
    explicit Puts(sg::BaseCheckpointSaver& saver) : saver_(saver) {}

    void begin(std::string thread_id, sg::CheckpointId head, unsigned number) {
        calls_.push_back(std::make_unique<Call>(*this, std::move(thread_id)));
        Call& call = *calls_.back();
        call.commit = sg::testing::makeCommit(number, 0);
        call.row = call.commit.row();
        call.request = {.log = {call.thread_id}, .expected_head = head, .commits = {&call.row, 1}, .writes = {}};
        saver_.asyncPut(call.request, call);
    }
    /// Returns what each of them threw, in their order.
    std::vector<std::string> wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ended_ == calls_.size(); });
        std::vector<std::string> said;
        for (const auto& call : calls_) {
            said.push_back(postgres_tests::databaseError([&] {
                if (call->failure) std::rethrow_exception(call->failure);
            }));
        }
        return said;
    }
    std::size_t ended() {
        const std::lock_guard lock(mutex_);
        return ended_;
    }

private:
    struct Call final : sg::PutCompletion {
        Call(Puts& of, std::string name) : puts(of), thread_id(std::move(name)) {}
        void complete(std::exception_ptr why) noexcept override {
            const std::lock_guard lock(puts.mutex_);
            failure = std::move(why);
            ++puts.ended_;
            puts.changed_.notify_all();
        }
        Puts& puts;
        std::string thread_id;
        sg::testing::TestCommit commit = {};
        sg::CommitRow row = {};
        sg::PutRequest request = {};
        std::exception_ptr failure;
    };

    sg::BaseCheckpointSaver& saver_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t ended_ = 0;
    std::vector<std::unique_ptr<Call>> calls_;
};

Graph three() { return chainOf(appendsLater("a", 0us), appendsLater("b", 0us), appendsLater("c", 0us)); }

}  // namespace

TEST_CASE("hundreds of awaited runs on two threads store in PostgreSQL what blocking runs store in memory") {
    constexpr int runs = 300;
    const Schema schema;
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open({.async_threads = 3});
    const auto memory = std::make_shared<sg::MemorySaver>();
    const auto executor = twoThreads();
    const auto app = three().compile({.checkpointer = saver, .executor = executor, .ids = FixedIds::make()});
    const auto expected = three().compile({.checkpointer = memory, .ids = FixedIds::make()});
    for (const auto durability : {sg::Durability::async, sg::Durability::sync, sg::Durability::exit}) {
        std::vector<sg::Spawning<sg::Result<State>>> spawned;
        const auto config = [&](int i) {
            return sg::RunConfig{.thread_id = std::to_string(static_cast<int>(durability)) + "/" + std::to_string(i),
                                 .durability = durability};
        };
        for (int i = 0; i < runs; ++i)
            spawned.push_back(
                sg::spawn(executor, app.asyncInvoke({sg::set(&State::foo, std::to_string(i))}, config(i))));
        for (int i = 0; i < runs; ++i) {
            CHECK(spawned[static_cast<std::size_t>(i)].get().values == State{std::to_string(i), {"a", "b", "c"}, 0});
            (void)expected.invoke({sg::set(&State::foo, std::to_string(i))}, config(i));
        }
    }
    CHECK((history::bytesOf(*saver) == history::bytesOf(*memory)));
    CHECK(saver->joinedPuts() > runs);
}

TEST_CASE("more than a thousand asynchronous puts wait for PostgreSQL without a thread each") {
    constexpr unsigned count = 1'500;
    const Schema schema;
    const auto saver = schema.open();
    Puts puts(*saver);
    {
        Raw blocker;
        blocker.run("BEGIN; LOCK TABLE " + schema.name() + ".commits IN EXCLUSIVE MODE");
        for (unsigned i = 0; i < count; ++i) puts.begin("thread " + std::to_string(i), {}, 1);
        CHECK(puts.ended() == 0);
        blocker.run("COMMIT");
    }
    for (const std::string& said : puts.wait()) CHECK(said == "");
    CHECK(saver->joinedPuts() > count / 2);
    CHECK(saver->list({.heads = true}).size() == count);
}

TEST_CASE("of asynchronous puts to one log one is stored, and the others throw ConcurrentUpdateError") {
    const Schema schema;
    const auto saver = schema.open();
    for (int round = 0; round < 20; ++round) {
        Puts puts(*saver);
        for (unsigned i = 0; i < 6; ++i) puts.begin("t" + std::to_string(round), {}, 1 + i);
        const auto said = puts.wait();
        CHECK(std::ranges::count(said, "") == 1);
        for (const std::string& each : said) {
            if (!each.empty()) POSTGRES_SAYS(each, "ConcurrentUpdateError");
        }
    }
}

TEST_CASE(
    "asynchronous calls of a request that is wrong, and of a saver that only reads, are completed with the error") {
    const Schema schema;
    const auto saver = schema.open();
    const auto reader = schema.open({.read_only = true});
    Puts wrong(*saver);
    wrong.begin("", {}, 1);
    POSTGRES_SAYS(wrong.wait().front(), "InvalidArgumentError");
    Puts refused(*reader);
    refused.begin("t", {}, 1);
    POSTGRES_SAYS(refused.wait().front(), "read_only");
}

TEST_CASE("when the server ends in the middle of awaited runs, they fail, and RESUME leads to their results") {
    const Server server;
    const Schema schema(server.conninfo());
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open({.reconnect_for = 300ms});
    const auto executor = twoThreads();
    const auto app = chainOf(appendsLater("a"), appendsLater("b"), appendsLater("c"), appendsLater("d"))
                         .compile({.checkpointer = saver, .executor = executor});
    constexpr int runs = 60;
    std::vector<sg::Spawning<sg::Result<State>>> spawned;
    for (int i = 0; i < runs; ++i)
        spawned.push_back(sg::spawn(executor, app.asyncInvoke(Update{}, {.thread_id = std::to_string(i)})));
    std::this_thread::sleep_for(5ms);  // sleeps: usually enough; what is checked holds in any case
    server.down();
    for (auto& run : spawned) {
        try {
            (void)run.get();
        } catch (const sg::SaverError&) {
        }
    }
    server.up();
    for (int i = 0; i < runs; ++i) {
        const sg::RunConfig config{.thread_id = std::to_string(i)};
        sg::Result<State> done;
        try {
            done = sg::syncWait(app.asyncInvoke(sg::RESUME, config));
        } catch (const sg::EmptyInputError&) {
            done = sg::syncWait(app.asyncInvoke(Update{}, config));
        }
        CHECK(done.values.bar == Strings{"a", "b", "c", "d"});
    }
}

// AddressSanitizer's allocator does not support a fork while another thread uses it.
#if !STATEGRAPH_WITH_ASAN
TEST_CASE("in a forked child asynchronous calls fail, and the child ends") {
    const Schema schema;
    std::unique_ptr<sg::PostgresSaver> saver = schema.open();
    Puts before(*saver);
    before.begin("t", {}, 1);
    CHECK(before.wait().front() == "");
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(300);
        Puts puts(*saver);
        puts.begin("t", sg::testing::nthId(1), 2);
        const bool fails = postgres_tests::has(puts.wait().front(), "SaverError");
        saver.reset();
        ::_exit(fails ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
#endif

TEST_CASE("commits of awaited runs are notified as those of blocking runs are") {
    const Schema schema;
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open({.notify = {.commits = true, .interval = 1ms}});
    const auto app = three().compile({.checkpointer = saver});
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::sync};
    (void)sg::syncWait(app.asyncInvoke({sg::set(&State::foo, std::string("x"))}, config));
    CHECK(patience::eventually([&] { return saver->notifications() > 0; }));
}

TEST_CASE("asynchronous puts under leases are stored while they are the threads' leases, and take their inputs") {
    constexpr int threads = 20;
    const Schema schema;
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open({.async_threads = 2});
    sg::PostgresQueue queue(saver);
    const auto leased = std::make_shared<sg::LeasedSaver>(saver);
    const auto nameOf = [](int number) { return "t" + std::to_string(number); };
    for (int i = 0; i < threads; ++i) {
        (void)queue.submit({.thread_id = nameOf(i), .graph = "g", .input = sg::Value(i)});
        (void)queue.submit({.thread_id = nameOf(i), .graph = "g", .input = sg::Value(i)});
    }
    sg::ClaimRequest request{.worker = "w", .lease = 1h, .graphs = {{"g", {1, 1}}}, .queues = {{"default", threads}}};
    const auto claims = queue.claim(request);
    REQUIRE(claims.size() == threads);
    for (const sg::Claim& claim : claims) {
        leased->holdNew(claim.thread_id, {.epoch = claim.epoch, .takes = claim.input_number});
        // The thread is known to be new, so nobody is asked.
        struct Read final : sg::TupleCompletion {
            void complete(std::optional<sg::CheckpointTuple> tuple, std::exception_ptr failure) noexcept override {
                is_empty = !tuple && !failure;
            }
            bool is_empty = false;
        } read;
        leased->asyncGetTuple({.log = {claim.thread_id}}, read);
        CHECK(read.is_empty);
    }
    Puts first(*leased);
    for (int i = 0; i < threads; ++i) first.begin(nameOf(i), {}, 1);
    first.begin("not leased", {}, 1);
    auto said = first.wait();
    CHECK(postgres_tests::has(said.back(), "this process has no lease on the thread"));
    said.pop_back();
    for (const std::string& each : said) CHECK(each == "");
    for (int i = 0; i < threads; ++i) {
        CHECK(leased->hasTaken(nameOf(i)));
        CHECK(queue.find(nameOf(i))->inputs == 1);
    }
    // Others claim half of them.
    std::vector<sg::Release> releases;
    for (const sg::Claim& claim : claims) {
        if (std::stoi(claim.thread_id.substr(1)) % 2 == 0)
            releases.push_back({.thread_id = claim.thread_id, .epoch = claim.epoch, .outcome = sg::WorkOutcome::again});
    }
    (void)queue.release(releases);
    REQUIRE(queue.claim(request).size() == threads / 2);
    Puts second(*leased);
    for (int i = 0; i < threads; ++i) second.begin(nameOf(i), sg::testing::makeCommit(1, 0).row().id, 2);
    said = second.wait();
    for (int i = 0; i < threads; ++i) {
        CAPTURE(i);
        const std::string& each = said[static_cast<std::size_t>(i)];
        if (i % 2 == 0) {
            CHECK(postgres_tests::has(each, "the lease with epoch"));
        } else {
            CHECK(each == "");
        }
    }
}
