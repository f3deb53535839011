#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/materialise.hpp"
#include "storage/saver/branch_walk.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/checkpoint/long_log.hpp"
#include "tests/support/encryption.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/savers.hpp"

// What savers read of logs that are longer than what they read unseen, with any branches. It is compared with the fold
// of all rows between a checkpoint's base and the checkpoint.
using namespace long_logs;

namespace {

/// How a checkpoint is requested.
struct Asked {
    unsigned n = 0;
    unsigned before = 0;  // 0: by its id
};

void checkRead(sg::BaseCheckpointSaver& saver, const Log& log, Asked asked, bool is_sealed = false) {
    CAPTURE(asked.n);
    CAPTURE(asked.before);
    sg::TupleQuery query{.log = log.name()};
    if (asked.before == 0) query.checkpoint_id = nthId(asked.n);
    if (asked.before != 0 && asked.before <= log.size()) query.before = nthId(asked.before);
    auto tuple = saver.getTuple(query);
    REQUIRE(tuple);
    CHECK(tuple->id == nthId(asked.n));
    CHECK(tuple->head == nthId(log.size()));
    CHECK(tuple->writes.size() == log.of(asked.n).writes);
    REQUIRE(tuple->next.has_value() == (asked.n < log.size()));
    if (tuple->next) {
        CHECK(tuple->next->id == nthId(asked.n + 1));
        if (!is_sealed) CHECK(tuple->next->bytes == log.of(asked.n + 1).bytes);
    }
    const auto ids = sg::testing::idsOf(tuple->commits);
    CHECK(std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end());
    CHECK(ids.front() >= nthId(log.of(asked.n).base));
    CHECK(ids.back() == nthId(asked.n));
    // The bytes of rows of other branches: those that are read unseen, and those of at most 64 KiB.
    std::size_t unseen_bytes = 0;
    std::size_t unseen_rows = 0;
    for (unsigned i = log.of(asked.n).base; i <= asked.n && unseen_bytes <= cp::unseen_bytes_max; ++i, ++unseen_rows)
        unseen_bytes += log.of(i).bytes.size();
    CHECK(ids.size() <= log.lengthOf(asked.n) + std::min(unseen_rows, cp::unseen_rows_max));
    const std::string expected = shown(cp::fold(log.name(), log.whole(asked.n)));
    CHECK(shown(cp::fold(log.name(), std::move(*tuple))) == expected);
}

/// Checks some checkpoints of several logs in one store: once from what was just written, and once, with RocksDB, from
/// the table that opening makes of it.
void checkAll(const std::vector<Log>& logs, const std::function<std::vector<unsigned>(const Log&)>& wanted) {
    savers::onEach([&](savers::Store& store) {
        for (int opened = 0; opened < 2; ++opened) {
            CAPTURE(opened);
            const auto saver = store.open();
            for (const Log& log : logs) {
                CAPTURE(log.name().thread_id);
                if (opened == 0) log.store(*saver);
                for (const unsigned n : wanted(log)) {
                    checkRead(*saver, log, {.n = n});
                    checkRead(*saver, log, {.n = n, .before = n + 1});
                }
            }
        }
    });
}

/// With a sanitizer, one of five of these.
auto everyNth(unsigned step) {
    return [step = step * sanitized::one_of](const Log& log) {
        std::vector<unsigned> wanted{1, log.size()};
        for (unsigned n = 1; n <= log.size(); n += step) wanted.push_back(n);
        return wanted;
    };
}

/// Returns a log that mostly has one branch after the other, with returns to older ones, whole commits, several
/// supersteps in a commit, large records and pending writes.
Log randomLog(bytes::Random& random, std::string thread_id) {
    Log log(std::move(thread_id));
    const auto rows = static_cast<unsigned>(2 + random.below(random.chance(2) ? 100 : 400));
    const std::size_t fork = 3 + random.below(60);
    const std::size_t whole = 10 + random.below(500);
    const std::size_t large = 10 + random.below(100);
    unsigned parent = log.add(0);
    while (log.size() < rows) {
        if (random.chance(fork)) parent = static_cast<unsigned>(1 + random.below(log.size()));
        if (random.chance(fork * 4)) parent = 1;
        if (random.chance(500)) parent = 0;
        const auto folds = static_cast<unsigned>(random.chance(20) ? 1 + random.below(200) : 1);
        parent = log.add(parent, random.chance(whole), folds, random.chance(large) ? random.below(20'000) : 0);
        if (random.chance(10)) log.of(parent).writes = random.below(3);
    }
    return log;
}

std::vector<Log> randomLogs(bytes::Random& random, unsigned count) {
    std::vector<Log> logs;
    for (unsigned i = 0; i < count; ++i) logs.push_back(randomLog(random, "random " + std::to_string(i)));
    return logs;
}

}  // namespace

TEST_CASE("a long log is read with forks at its beginning, in its middle and at its end") {
    std::vector<Log> logs;
    for (const unsigned at : {1U, 2U, 40U, 63U, 64U, 65U, 66U, 150U, 299U, 300U}) {
        Log log("fork at " + std::to_string(at));
        log.addLine(0, at);
        log.addLine(at, 5);  // abandoned
        log.addLine(at, 305 - at);
        logs.push_back(std::move(log));
    }
    checkAll(logs, everyNth(37));
}

TEST_CASE("a long log is read through an abandoned branch that is longer, as long, or shorter") {
    std::vector<Log> logs;
    for (const unsigned abandoned : {3U, 60U, 70U, 200U, 1500U}) {
        Log log(std::to_string(abandoned) + " abandoned");
        log.addLine(0, 100);
        log.addLine(50, abandoned);
        log.addLine(50, 150);
        logs.push_back(std::move(log));
    }
    checkAll(logs, everyNth(101));
}

TEST_CASE("a branch that was left is read after it was continued") {
    Log log;
    unsigned left = log.addLine(0, 90);
    unsigned right = log.addLine(30, 40);
    for (int i = 0; i < 20; ++i) {
        left = log.addLine(left, 7);
        right = log.addLine(right, 3);
    }
    log.addLine(left, 100);
    checkAll({log}, everyNth(29));
}

TEST_CASE("a long log is read from the whole commit that it names") {
    Log log;
    log.addLine(0, 120);
    const unsigned whole = log.add(120, true);
    log.addLine(whole, 80);
    log.addLine(100, 70);  // on another branch, from the first
    log.addLine(whole, 90);
    checkAll({log}, everyNth(31));
}

TEST_CASE("commits of many supersteps each are read") {
    Log log;
    unsigned last = log.add(0);
    for (unsigned i = 0; i < 100; ++i) last = log.add(last, false, 50);
    log.addLine(last, 400);
    log.addLine(last, 3);
    checkAll({log}, everyNth(41));
}

TEST_CASE("large records of other branches are not read along") {
    Log log;
    unsigned last = log.add(0, false, 1, 100'000);
    for (unsigned i = 0; i < 10; ++i) {
        log.add(last, false, 1, 30'000);
        last = log.add(last, false, 1, 10'000);
    }
    checkAll({log}, everyNth(1));
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        log.store(*saver);
        const auto tuple = saver->getTuple({.log = log.name(), .checkpoint_id = nthId(last)});
        REQUIRE(tuple);
        std::size_t bytes = 0;
        for (const auto& commit : tuple->commits) bytes += commit.bytes.size();
        CHECK(bytes < 240'000);  // of 500,000
    });
}

TEST_CASE("random logs with branches are read as the fold of all their rows") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    CAPTURE(seed);
    bytes::Random random(seed);
    checkAll(randomLogs(random, sanitized::some(16)), [&](const Log& log) {
        std::vector<unsigned> wanted{1, log.size()};
        for (int i = 0; i < 12; ++i) wanted.push_back(static_cast<unsigned>(1 + random.below(log.size())));
        return wanted;
    });
}

TEST_CASE("a random log that was pruned gives what it gave before, from commits that are whole now") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    CAPTURE(seed);
    bytes::Random random(seed);
    const std::vector<Log> logs = randomLogs(random, sanitized::some(12));
    std::size_t rewritten = 0;
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        for (const Log& log : logs) {
            const std::string thread_id(log.name().thread_id);
            CAPTURE(thread_id);
            log.store(*saver);
            saver->prune({.thread_id = thread_id, .keep_last = 1 + random.below(log.size())});
            for (const auto& row : saver->list({.thread_id = thread_id, .checkpoint_ns = ""})) {
                unsigned n = 1;
                while (nthId(n) != row.id) ++n;
                rewritten += row.bytes != log.of(n).bytes;
                if (n % 7 != 0 && n != log.size()) continue;
                CAPTURE(n);
                auto tuple = saver->getTuple({.log = log.name(), .checkpoint_id = row.id});
                REQUIRE(tuple);
                CHECK(tuple->head == nthId(log.size()));
                const cp::Folded folded = cp::fold(log.name(), std::move(*tuple));
                CHECK(folded.commit.step == log.of(n).step);
                const std::string value = cp::materialise(folded.channels.at(0).pieces);
                CHECK((sg::Value::fromCbor(value).as<std::vector<std::string>>() == log.valueOf(n)));
            }
        }
    });
    CHECK(rewritten > 0);
}

TEST_CASE("random logs of encrypted records are read") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    CAPTURE(seed);
    bytes::Random random(seed);
    const std::vector<Log> logs = randomLogs(random, sanitized::some(3));
    savers::onEach([&](savers::Store& store) {
        const auto saver = std::make_shared<sg::EncryptedSaver>(store.open(), encryption::key("k"));
        for (const Log& log : logs) {
            log.store(*saver);
            for (int i = 0; i < 5; ++i) {
                const auto n = static_cast<unsigned>(1 + random.below(log.size()));
                checkRead(*saver, log, {.n = n}, true);
            }
            checkRead(*saver, log, {.n = log.size()}, true);
        }
    });
}
