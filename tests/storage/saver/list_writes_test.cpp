#include <algorithm>

#include <doctest/doctest.h>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/support/savers.hpp"

// Listings with pending writes, which a saver may read in one pass: each checkpoint gets its own.
namespace sg = stategraph;
using sg::testing::nthId;

TEST_CASE("a listing gives each checkpoint its pending writes, wherever it begins and ends") {
    const auto seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    savers::onEach([seed](savers::Store& store) {
        bytes::Random random(seed);
        const auto saver = store.open();
        std::size_t stored = 0;
        for (const char* ns : {"", "child", "other"}) {
            const sg::LogName log{"t", ns};
            sg::testing::putLine(*saver, log, 20);
            for (unsigned n = 1; n <= 20; ++n) {
                for (std::size_t writes = random.chance(2) ? random.below(4) : 0; writes > 0; --writes) {
                    sg::testing::putWrite(*saver, log, nthId(20), nthId(n), "pull:" + std::to_string(writes),
                                          sg::testing::makeTask(nthId(n), false));
                    ++stored;
                }
            }
        }
        const auto check = [&](const sg::ListQuery& query) {
            std::size_t found = 0;
            for (const auto& row : saver->list(query)) {
                const auto tuple =
                    saver->getTuple({.log = {row.thread_id, row.checkpoint_ns}, .checkpoint_id = row.id});
                REQUIRE(tuple);
                REQUIRE(row.writes.size() == tuple->writes.size());
                for (std::size_t i = 0; i < row.writes.size(); ++i) {
                    CHECK(row.writes[i].path == tuple->writes[i].path);
                    CHECK(row.writes[i].bytes == tuple->writes[i].bytes);
                }
                found += row.writes.size();
            }
            return found;
        };
        CHECK(check({.with_writes = true}) == stored);
        CHECK(check({.thread_id = "t", .with_writes = true}) == stored);
        check({.thread_id = "t", .heads = true, .with_writes = true});
        for (unsigned before = 1; before <= 21; ++before) {
            for (const std::size_t limit : {1U, 3U, 50U}) {
                const auto rows =
                    saver->list({.thread_id = "t", .checkpoint_ns = "child", .before = nthId(before), .limit = limit});
                CHECK(rows.size() == std::min<std::size_t>(limit, before - 1));
                check({.thread_id = "t",
                       .checkpoint_ns = "child",
                       .before = nthId(before),
                       .limit = limit,
                       .with_writes = true});
                check({.before = nthId(before), .limit = limit, .with_writes = true});
            }
        }
        CHECK(saver->list({.thread_id = "t", .checkpoint_ns = "nobody", .with_writes = true}).empty());
        CHECK(saver->list({.thread_id = "nobody", .checkpoint_ns = "", .with_writes = true}).empty());
    });
}
