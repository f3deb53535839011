// Limits of queues over all workers, and owners of many threads beside owners of few.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/support/helper_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/worker/worker_helper.hpp"

using namespace worker_tests;
using helpers::given;
using helpers::Helper;

namespace {

constexpr int limit = 5;

/// What the nodes of several processes count together.
struct Counts {
    std::atomic<int> now{0};
    std::atomic<int> most{0};
    std::atomic<int> begun{0};

    void begin() {
        ++begun;
        const int running = ++now;
        for (int known = most; known < running && !most.compare_exchange_weak(known, running);) {
        }
    }
    void end() { --now; }
};

/// In a file, which processes share.
class SharedCounts {
public:
    explicit SharedCounts(const std::filesystem::path& file) {
        const int opened = ::open(file.c_str(), O_RDWR | O_CREAT, 0600);
        if (opened < 0 || ::ftruncate(opened, sizeof(Counts)) != 0) throw std::runtime_error("no file for counts");
        memory_ = ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
        ::close(opened);
        if (memory_ == MAP_FAILED) throw std::runtime_error("no memory for counts");
    }
    SharedCounts(const SharedCounts&) = delete;
    SharedCounts& operator=(const SharedCounts&) = delete;
    ~SharedCounts() { ::munmap(memory_, sizeof(Counts)); }
    // A new file is all zeros, which is what a new Counts is.
    Counts* operator->() const { return std::launder(static_cast<Counts*>(memory_)); }

private:
    void* memory_ = nullptr;
};

}  // namespace

// Its nodes wait until as many run as the limit allows, and then take a while, so that one too many is counted.
TEST_CASE("helper: one of three workers of a queue with a limit" * doctest::skip()) {
    const std::string schema = given("STATEGRAPH_TEST_DATABASE");
    if (schema.empty()) return;
    const SharedCounts counts(given("STATEGRAPH_TEST_NOTES"));
    auto options = patient({});
    options.schema = schema;
    const auto saver =
        std::make_shared<sg::LeasedSaver>(std::make_shared<sg::PostgresSaver>(postgres_tests::conninfo(), options));
    sg::Worker worker(saver, quick({.queues = {{.name = "tight"}}, .slots = 4}));
    worker.add("graph", countingGraph({.checkpointer = saver}, [&](const Counted& state, sg::Runtime&) {
                   counts->begin();
                   if (state.input == 1) patience::until([&] { return counts->most >= limit; });
                   std::this_thread::sleep_for(2ms);  // sleeps: work that takes time
                   counts->end();
               }));
    std::thread stopper([&] {
        patience::until([&] { return worker.queue().stats().empty(); });
        worker.stop();
    });
    worker.run();
    stopper.join();
}

TEST_CASE("workers of three processes run as many threads of a queue as its limit over all of them, and no more") {
    const TemporaryFolder folder;
    Place on;
    ::setenv("STATEGRAPH_TEST_POSTGRES", postgres_tests::conninfo().c_str(), 1);  // theirs is this one's
    const SharedCounts counts(folder / "counts");
    on.queue.setLimit({.queue = "tight", .runs = limit});
    for (int i = 0; i < 40; ++i) on.submit("t" + std::to_string(i), 1, "graph", 2, "tight");
    {
        const char* const helper = "helper: one of three workers of a queue with a limit";
        Helper first(helper, on.schema.name(), folder / "counts", 1);
        Helper second(helper, on.schema.name(), folder / "counts", 2);
        Helper third(helper, on.schema.name(), folder / "counts", 3);
        CHECK(first.wait() == 0);
        CHECK(second.wait() == 0);
        CHECK(third.wait() == 0);
    }
    CHECK(counts->most == limit);
    CHECK(counts->now == 0);
    for (int i = 0; i < 40; ++i) CHECK(on.log("t" + std::to_string(i)) == logOf({1}, 2));
}

TEST_CASE("workers of three processes claim no more threads a second than the limit of their queue allows") {
    const TemporaryFolder folder;
    Place on;
    ::setenv("STATEGRAPH_TEST_POSTGRES", postgres_tests::conninfo().c_str(), 1);
    const SharedCounts counts(folder / "counts");
    constexpr int threads = 60;
    constexpr double rate = 100;
    const auto begin = std::chrono::steady_clock::now();  // before the server begins to count
    on.queue.setLimit({.queue = "tight", .rate = rate});
    for (int i = 0; i < threads; ++i) on.submit("t" + std::to_string(i), 2, "graph", 1, "tight");
    {
        const char* const helper = "helper: one of three workers of a queue with a limit";
        Helper first(helper, on.schema.name(), folder / "counts", 1);
        Helper second(helper, on.schema.name(), folder / "counts", 2);
        Helper third(helper, on.schema.name(), folder / "counts", 3);
        CHECK(first.wait() == 0);
        CHECK(second.wait() == 0);
        CHECK(third.wait() == 0);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    CHECK(counts->begun == threads);
    CHECK(threads <= rate * took.count());
}

TEST_CASE("of a group of queues each has its turn, so that an owner of many threads does not keep others waiting") {
    Place on;
    std::mutex mutex;
    std::vector<std::string> order;
    Running running(on, quick({.queues = {{.name = "tenant/*"}}, .slots = 2}));
    running.add("graph", [&](const Counted&, sg::Runtime& runtime) {
        const std::lock_guard lock(mutex);
        order.emplace_back(runtime.threadId());
    });
    for (int i = 0; i < 30; ++i) on.submit("loud " + std::to_string(i), 1, "graph", 1, "tenant/loud");
    for (int i = 0; i < 3; ++i) on.submit("quiet " + std::to_string(i), 1, "graph", 1, "tenant/quiet");
    on.submit("small", 1, "graph", 1, "tenant/small");
    on.submit("nobody's", 1, "graph", 1, "nobody's");
    running.start();
    on.await([&] { return on.queue.stats().size() == 1; });
    running.stop();
    REQUIRE(order.size() == 34);
    const auto placeOf = [&](const char* name) { return std::ranges::find(order, name) - order.begin(); };
    CHECK(placeOf("small") < 6);
    CHECK(placeOf("quiet 2") < 12);
    CHECK(on.queue.find("nobody's")->attempts == 0);
}

TEST_CASE("a worker's queue has its asterisk at the end") {
    Place on;
    const auto said = [&](const char* name) {
        return postgres_tests::databaseError(
            [&] { sg::Worker(std::make_shared<sg::LeasedSaver>(on.saver), {.queues = {{.name = name}}}); });
    };
    CHECK(postgres_tests::has(said("a*b"), "has 'a*b'; a `*` may only be the end of a name"));
    CHECK(postgres_tests::has(said("a**"), "may only be the end of a name"));
}
