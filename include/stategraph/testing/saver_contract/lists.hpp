#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Listings: filters, heads, pages, and their order.
namespace stategraph::testing {

TEST_CASE_TEMPLATE_DEFINE("listing gives the newest first and honours every combination of its filters", Factory,
                          saver_list) {
    Factory factory;
    const auto saver = factory.make();
    struct Row {
        std::string thread_id, ns;
        CheckpointId id;
        bool operator==(const Row&) const = default;
    };
    // In the order of listings.
    const std::vector<std::pair<std::string, std::string>> logs{
        {"t", ""}, {"t", "child"}, {"u", ""}, {"v", "child"}, {"v", "other"}};
    unsigned count = 0;
    for (const auto& [thread_id, ns] : logs) putLine(*saver, {thread_id, ns}, ++count);

    CHECK(listIds(*saver, {"v", "child"}) == nthIds({4, 3, 2, 1}));
    const std::vector<std::optional<std::string>> threads{std::nullopt, "t", "u", "v", "nobody"};
    const std::vector<std::optional<std::string>> namespaces{std::nullopt, "", "child", "none"};
    const std::vector<std::optional<std::string>> afters{std::nullopt, "t", "v", "w"};
    const std::vector<std::optional<std::size_t>> limits{std::nullopt, 0, 1, 2, 7, 100};
    const std::vector<CheckpointId> befores{{}, nthId(1), nthId(2), nthId(4), nthId(9)};
    const auto isListed = [&](const ListQuery& query, const std::pair<std::string, std::string>& log) {
        const auto& after = query.after_thread_id;
        return (!query.thread_id || *query.thread_id == log.first) &&
               (!query.checkpoint_ns || *query.checkpoint_ns == log.second) && (!after || *after < log.first);
    };
    const auto check = [&](const ListQuery& query) {
        std::vector<Row> expected;
        for (std::size_t i = 0; i < logs.size(); ++i) {
            if (!isListed(query, logs[i])) continue;
            for (unsigned n = static_cast<unsigned>(i) + 1; n >= 1; --n) {
                if (!query.before.empty() && nthId(n) >= query.before) continue;
                expected.push_back({logs[i].first, logs[i].second, nthId(n)});
                if (query.heads) break;
            }
        }
        expected.resize(std::min(expected.size(), query.limit.value_or(expected.size())));
        std::vector<Row> found;
        for (const auto& row : saver->list(query)) {
            found.push_back({row.thread_id, row.checkpoint_ns, row.id});
            CHECK(readHeader({row.thread_id, row.checkpoint_ns, row.id}, row.bytes).step ==
                  (row.id.time() - nthId(0).time()) / std::chrono::milliseconds(1));
        }
        CAPTURE(query.thread_id.value_or("(any)"));
        CAPTURE(query.checkpoint_ns.value_or("(any)"));
        CAPTURE(query.after_thread_id.value_or("(any)"));
        CAPTURE(query.heads);
        CHECK((found == expected));
    };
    for (const auto& thread_id : threads) {
        for (const auto& ns : namespaces) {
            for (const auto& after : afters) {
                for (const auto before : befores) {
                    for (const auto& limit : limits) {
                        for (const bool heads : {false, true}) {
                            check({.thread_id = thread_id,
                                   .checkpoint_ns = ns,
                                   .before = before,
                                   .limit = limit,
                                   .heads = heads,
                                   .after_thread_id = after});
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE_TEMPLATE_DEFINE("heads are the newest of each log, with their pending writes", Factory, saver_heads) {
    Factory factory;
    const auto saver = factory.make();
    for (const LogName log : {LogName{"t"}, LogName{"t", "child"}, LogName{"u"}}) {
        putLine(*saver, log, 3, true);
        putWrite(*saver, log, nthId(3), nthId(3), "p", "newest");
        putWrite(*saver, log, nthId(3), nthId(2), "p", "older");
    }
    // A fork from an older checkpoint still becomes the head.
    putOne(*saver, {"u"}, nthId(3), makeCommit(4, 1, 1));
    const auto heads = saver->list({.heads = true, .with_writes = true});
    REQUIRE(heads.size() == 3);
    CHECK(idsOf(heads) == nthIds({3, 3, 4}));
    CHECK(heads[0].bytes == makeCommit(3, 2, 1).bytes);
    REQUIRE(heads[0].writes.size() == 1);
    CHECK(heads[1].checkpoint_ns == "child");
    CHECK(heads[1].writes.at(0).bytes == "newest");
    CHECK(heads[2].writes.empty());
    const auto below = saver->list({.before = nthId(3), .heads = true, .with_writes = true});
    CHECK(idsOf(below) == nthIds({2, 2, 2}));
    CHECK(below.at(2).writes.at(0).bytes == "older");
    CHECK(saver->list({.before = nthId(1), .heads = true}).empty());
    saver->deleteThread("t");
    CHECK(idsOf(saver->list({.heads = true})) == nthIds({4}));
}

TEST_CASE_TEMPLATE_DEFINE("pages after a thread go through all threads once, in the order of listings", Factory,
                          saver_pages) {
    Factory factory;
    const auto saver = factory.make();
    const std::vector<std::string> names = oddNames();
    for (const auto& name : names) {
        putLine(*saver, {name}, 2);
        putLine(*saver, {name, "child"}, 1);
    }
    std::vector<std::string> all;
    for (const auto& row : saver->list({.checkpoint_ns = "", .heads = true})) all.push_back(row.thread_id);
    CHECK(all.size() == names.size());
    for (const std::size_t page : {std::size_t{1}, std::size_t{4}, std::size_t{1000}}) {
        std::vector<std::string> seen;
        ListQuery query{.checkpoint_ns = "", .limit = page, .heads = true};
        while (seen.size() <= all.size()) {
            const auto rows = saver->list(query);
            CHECK(rows.size() <= page);
            if (rows.empty()) break;
            for (const auto& row : rows) seen.push_back(row.thread_id);
            query.after_thread_id = rows.back().thread_id;
        }
        CHECK((seen == all));
    }
    // A thread that is deleted while a reader goes through the pages does not move the others.
    const std::string gone = all[5];
    saver->deleteThread(gone);
    const auto rest = saver->list({.checkpoint_ns = "", .limit = 2, .heads = true, .after_thread_id = gone});
    REQUIRE(rest.size() == 2);
    CHECK(rest[0].thread_id == all[6]);
    CHECK(rest[1].thread_id == all[7]);
    CHECK(saver->list({.after_thread_id = all.back()}).empty());
    CHECK(saver->list({.thread_id = all[6], .after_thread_id = all[6]}).empty());
    CHECK(saver->list({.thread_id = all[6], .after_thread_id = all[4]}).size() == 3);
}

}  // namespace stategraph::testing
