#include <chrono>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>

#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif
#include <stategraph/stategraph.hpp>

#include <stategraph/testing/saver_contract/support.hpp>
#include "tests/support/savers.hpp"
#include "tests/support/temporary_folder.hpp"

// The code in docs/retention.md.
namespace sg = stategraph;
using namespace std::chrono_literals;

namespace {
[[maybe_unused]] constexpr std::chrono::milliseconds day = 24h;
}

TEST_CASE("docs/retention.md: stats, and dropping by hand") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        sg::testing::putLine(*saver, {"customer 7"}, 150);
        sg::testing::putLine(*saver, {"customer 8"}, 1);
        const auto date = sg::testing::nthId(120).time();
        std::ostringstream out;

        // [begin stats]
        sg::SaverStats stats = saver->stats();
        out << stats << '\n';                        // totals, and bytes by channel, the largest first
        const std::string json = sg::toJson(stats);  // for a dashboard
        // [end stats]
        CHECK(out.str().find("commits 151\n") != std::string::npos);
        CHECK(json.find("\"customer 7\"") != std::string::npos);
        // [begin stats]

        stats = saver->stats({.thread_id = "customer 7"});  // one thread
        // [end stats]
        CHECK(stats.total.commits == 150);
        // [begin stats]
        stats = saver->stats({.threads = false});  // totals only: memory does not grow with the number of threads
        // [end stats]
        CHECK(stats.per_thread.empty());

        // [begin prune]
        const std::size_t dropped = saver->prune({.keep_last = 100});  // of every log
        const std::size_t old = saver->prune({.thread_id = "customer 7", .older_than = date});
        const std::size_t threads = saver->prune({.threads_unused_since = date});  // whole threads
        // [end prune]
        CHECK(dropped == 50);
        CHECK(old == 69);
        CHECK(threads == 1);
        CHECK(saver->stats().threads == 1);
        // [begin prune]
        saver->deleteThread("customer 7");
        // [end prune]
        CHECK(saver->stats().threads == 0);
    });
}

TEST_CASE("docs/retention.md: a limit for memory") {
    // [begin memory]
    auto saver = std::make_shared<sg::MemorySaver>(sg::MemorySaverOptions{
        .bytes_max = 512U << 20U,
        .when_full = sg::WhenFull::evict,
    });
    // [end memory]
    sg::testing::putLine(*saver, {"t"}, 3);
    CHECK(saver->storedBytes().value() > 0);
    CHECK(saver->evictedThreads() == 0);
}

#if STATEGRAPH_HAS_ROCKSDB
TEST_CASE("docs/retention.md: dropping by itself") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    {
        // [begin retention]
        auto saver = std::make_shared<sg::RocksDBSaver>(
            path, sg::RocksDBSaverOptions{
                      .retention = sg::RetentionOptions{
                          .keep_last = 100, .older_than = 7 * day, .threads_unused_for = 90 * day, .every = 10min}});
        // [end retention]
        while (saver->retentionReport().runs == 0) std::this_thread::yield();
        // [begin retention]
        const sg::RetentionReport report = saver->retentionReport();
        if (report.failed_runs > 0) std::cerr << "retention: " << report.last_error << '\n';
        // [end retention]
        CHECK(report.failed_runs == 0);
        CHECK(report.runs == 1);
    }
}
#endif
