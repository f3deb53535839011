#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/checkpoint/long_log.hpp"
#include "tests/support/savers.hpp"

// Long logs in which some row is damaged or missing. Savers choose what they read by headers that have not been
// checked.
using namespace long_logs;

namespace {

std::string whyNot(sg::BaseCheckpointSaver& saver, const Log& log, unsigned n) {
    try {
        auto tuple = saver.getTuple({.log = log.name(), .checkpoint_id = nthId(n)});
        REQUIRE(tuple);
        (void)cp::fold(log.name(), std::move(*tuple));
    } catch (const sg::CorruptCheckpointError& error) {
        return error.what();
    }
    return "it can be read";
}

/// Returns the record with other bytes, which its checksum refuses.
std::vector<std::string> damagedRecords(bytes::Random& random, const Log& log, unsigned n) {
    const std::string& whole = log.of(n).bytes;
    std::vector<std::string> damaged;
    for (std::size_t i = 0; i < std::min<std::size_t>(whole.size(), 60); ++i) {
        damaged.push_back(whole);
        damaged.back()[i] = static_cast<char>(damaged.back()[i] ^ static_cast<char>(1U + random.below(255)));
    }
    damaged.emplace_back();
    damaged.push_back(whole.substr(0, cp::frame_size));
    damaged.push_back(whole.substr(0, cp::frame_size + 5));
    for (const unsigned parent : {1U, 20U, n, n + 10}) {  // the damage that sends a walk elsewhere
        if (parent == n - 1) continue;
        std::string other;
        cp::CommitFields fields{.id = nthId(n), .parent = nthId(parent), .base = nthId(1), .step = log.of(n).step};
        fields.operations = "\xa0";
        cp::writeCommit(fields, other);
        damaged.push_back(whole.substr(0, cp::frame_size) + other.substr(cp::frame_size));
    }
    return damaged;
}

}  // namespace

TEST_CASE("a damaged row on the way is named, wherever it is and whatever is damaged of it") {
    const std::uint64_t seed = tests::seed();
    MESSAGE("STATEGRAPH_TEST_SEED=" << seed);
    CAPTURE(seed);
    bytes::Random random(seed);
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        for (const unsigned at : {2U, 30U, 70U, 110U, 149U}) {
            CAPTURE(at);
            Log healthy;
            healthy.addLine(0, 150);
            std::size_t nth = 0;
            for (const std::string& bytes : damagedRecords(random, healthy, at)) {
                CAPTURE(bytes::toHex(bytes));
                Log log(std::to_string(at) + " " + std::to_string(nth++));
                log.addLine(0, 150);
                log.of(at).bytes = bytes;
                log.store(*saver);
                const std::string why = whyNot(*saver, log, 150);
                CHECK_MESSAGE(why.find(nthId(at).toString()) != std::string::npos, why);
                CHECK_MESSAGE(why.find("missing") == std::string::npos, why);
                if (at > 2) CHECK(whyNot(*saver, log, at - 1) == "it can be read");
            }
        }
    });
}

TEST_CASE("a damaged row of another branch does not matter") {
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        for (const unsigned at : {81U, 100U, 150U}) {
            for (const int kind : {0, 1, 2}) {
                CAPTURE(at);
                CAPTURE(kind);
                Log log(std::to_string(at) + " " + std::to_string(kind));
                log.addLine(0, 80);
                log.addLine(40, 100);  // 81 to 180
                log.addLine(80, 100);
                const Log healthy = log;
                std::string& bytes = log.of(at).bytes;
                if (kind == 0) bytes.resize(cp::frame_size);
                if (kind == 1) bytes.back() = static_cast<char>(bytes.back() ^ 1);
                if (kind == 2) {
                    bytes.clear();
                    cp::CommitFields fields{.id = nthId(at), .parent = nthId(3), .base = nthId(1), .step = 3};
                    fields.operations = "\xa0";
                    cp::writeCommit(fields, bytes);
                }
                log.store(*saver);
                auto tuple = saver->getTuple({.log = log.name()});
                REQUIRE(tuple);
                CHECK(shown(cp::fold(log.name(), std::move(*tuple))) ==
                      shown(cp::fold(log.name(), healthy.whole(log.size()))));
            }
        }
    });
}

TEST_CASE("a commit on the way that is missing is named") {
    savers::onEach([&](savers::Store& store) {
        const auto saver = store.open();
        for (const unsigned at : {2U, 64U, 130U, 198U}) {
            CAPTURE(at);
            Log log(std::to_string(at));
            log.addLine(0, 200);
            std::vector<sg::CommitRow> commits;
            for (unsigned n = 1; n <= log.size(); ++n) {
                if (n == at) continue;
                const unsigned parent = n == at + 1 ? n - 2 : n - 1;  // one that the saver has
                commits.push_back({nthId(n), parent ? nthId(parent) : sg::CheckpointId(), nthId(1), log.of(n).bytes});
            }
            saver->put({.log = log.name(), .expected_head = {}, .commits = commits, .writes = {}});
            const std::string why = whyNot(*saver, log, 200);
            CHECK_MESSAGE(why.find(nthId(at).toString()) != std::string::npos, why);
            CHECK_MESSAGE(why.find("is missing") != std::string::npos, why);
        }
    });
}
