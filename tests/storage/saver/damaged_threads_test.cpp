#include "tests/storage/saver/damaged_threads.hpp"

#include <chrono>
#include <thread>

#if STATEGRAPH_HAS_ROCKSDB
#include <rocksdb/db.h>
#include <stategraph/rocksdb_saver.hpp>
#endif

#include "tests/support/temporary_folder.hpp"

// One thread that cannot be read stops no call.
using namespace damage;
using namespace std::chrono_literals;

TEST_CASE("a thread that cannot be read is reported by every call over all threads, and left as it is") {
    savers::onEach([](savers::Store& store) {
        for (const Kind& kind : kinds()) {
            if (kind.why == nullptr) continue;
            CAPTURE(kind.name);
            const auto saver = store.open();
            fill(twoNodes(saver));
            kind.put(*saver);
            checkPassedOver(saver, *saver, kind.why);
            for (const auto& head : saver->list({.heads = true})) saver->deleteThread(head.thread_id);
        }
    });
}

TEST_CASE("a record whose checksum is right and whose content makes no sense stops nothing either") {
    savers::onEach([](savers::Store& store) {
        const auto saver = store.open();
        const auto app = twoNodes(saver);
        fill(app);
        kinds().back().put(*saver);
        CHECK_NOTHROW(saver->unfinishedThreads());
        CHECK(saver->stats().damaged.size() == 1);
        CHECK_NOTHROW(saver->prune({.keep_last = 1}));
        CHECK(app.recover().size() >= 3);
    });
}

TEST_CASE("retention reports the threads that it passed over") {
    sg::MemorySaver saver({.retention = sg::RetentionOptions{.keep_last = 1, .every = 1ms}});
    kinds().front().put(saver);
    kit::putLine(saver, {"good"}, 3);
    sg::RetentionReport report;
    const auto is_seen = [&] {
        report = saver.retentionReport();
        return report.dropped_commits == 2 && !report.damaged.empty();
    };
    while (!is_seen()) std::this_thread::yield();
    CHECK(report.failed_runs == 0);
    CHECK(report.last_error.empty());
    REQUIRE(report.damaged.size() == 1);
    CHECK(report.damaged[0].thread_id == bad);
}

#if STATEGRAPH_HAS_ROCKSDB
TEST_CASE("a key that no thread has stops no call over all threads") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    fill(twoNodes(std::make_shared<sg::RocksDBSaver>(path)));
    {
        rocksdb::DB* opened = nullptr;
        REQUIRE(rocksdb::DB::Open({}, path, &opened).ok());
        const std::unique_ptr<rocksdb::DB> db(opened);
        REQUIRE(db->Put({},
                        "c\x02"
                        "z1junk",
                        "x")
                    .ok());
        REQUIRE(db->Put({}, "cjunk", "x").ok());
    }
    const auto saver = std::make_shared<sg::RocksDBSaver>(path);
    const auto app = twoNodes(saver);
    CHECK(saver->unfinishedThreads().size() == 3);
    CHECK(saver->stats().threads == 5);
    CHECK(saver->list({.heads = true}).size() == 5);
    std::vector<sg::DamagedThread> passed;
    CHECK(saver->prune({.keep_last = 1, .damaged = &passed}) > 0);
    CHECK(passed.size() == 2);
    CHECK(app.getState({.thread_id = "z1"}).values.bar.size() == 12);
    CHECK(app.recover().size() == 3);
}
#endif
