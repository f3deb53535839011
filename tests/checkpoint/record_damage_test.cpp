// SECONDS: 30
// NOT WITH: sanitize=thread
#include "src/checkpoint/record.hpp"

#include <random>

#include <doctest/doctest.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "tests/checkpoint/records.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

namespace stategraph::testing {

using namespace checkpoint;
using namespace records;

TEST_CASE("times and attempts of other types than theirs are damage") {
    const auto commitWith = [](const std::string& name, const std::string& item) {
        std::string bytes;
        const std::size_t start = openFrame(bytes, format_version);
        Encoder out(bytes);
        out.array(2);
        out.map(2);
        out.text("step");
        out.integer(1);
        out.text(name);
        out.raw(item);
        out.map(0);
        closeFrame(own, bytes, start);
        return bytes;
    };
    const auto taskWith = [](const std::string& name, const std::string& item) {
        std::string bytes;
        const std::size_t start = openFrame(bytes, format_version);
        Encoder out(bytes);
        out.map(2);
        out.text("node");
        out.text("a");
        out.text(name);
        out.raw(item);
        closeFrame(own, bytes, start);
        return bytes;
    };
    using namespace std::string_literals;
    // text, -1, [], [1], [1, -1], [1, 2, 3], null, {}
    for (const std::string& item :
         {textItem("x"), "\x20"s, "\x80"s, "\x81\x01"s, "\x82\x01\x20"s, "\x83\x01\x02\x03"s, "\xf6"s, "\xa0"s}) {
        CAPTURE(item);
        CHECK(isCorrupt(commitWith("took", item), false));
        CHECK(isCorrupt(commitWith("attempts", item), false));
        CHECK(isCorrupt(taskWith("took", item), true));
        CHECK(isCorrupt(taskWith("attempts", item), true));
    }
    CHECK(readCommit(commit_key, commitWith("took", "\x05")).took->superstep_us == 5);
    CHECK_FALSE(readCommit(commit_key, commitWith("took", "\x05")).took->commit_us);
    CHECK(readCommit(commit_key, commitWith("took", "\x82\x05\x00"s)).took->commit_us == std::uint64_t{0});
    CHECK(readTask(task_key, taskWith("took", "\x82\x20\x07")).took->start_us == -1);
}

TEST_CASE("every flipped bit and every truncation of a record is found") {
    for (const bool is_task : {false, true}) {
        std::string bytes = is_task ? record(fullTask()) : record(fullCommit());
        REQUIRE_NOTHROW(readAll(bytes, is_task));
        unsigned missed = 0;
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            for (unsigned bits = 1 + sanitized::turn(); bits < 256; bits += sanitized::one_of) {
                bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ bits);
                missed += !isCorrupt(bytes, is_task);
                bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ bits);
            }
        }
        // The copies have the exact size, so that a sanitizer notices a read past the end.
        for (std::size_t size = 0; size < bytes.size(); ++size)
            missed += !isCorrupt(std::string(bytes.data(), size), is_task);
        missed += !isCorrupt(bytes + '\0', is_task);
        CHECK(missed == 0);
    }
}

TEST_CASE("a record under another id is found") {
    const std::string bytes = record(fullCommit());
    CHECK_THROWS_AS(readCommit({"t", "ns", nthId(6)}, bytes), CorruptCheckpointError);
    CHECK_THROWS_AS(readHeader({"t", "ns", nthId(6)}, bytes), CorruptCheckpointError);
}

TEST_CASE("a record of a newer format says so") {
    std::string bytes = record(fullCommit());
    bytes[0] = 4;
    try {
        readCommit(commit_key, bytes);
        FAIL("it was read");
    } catch (const CorruptCheckpointError& error) {
        CHECK(error.message().find("format 4 is newer than this library's 3") != std::string::npos);
        CHECK(error.message().find("thread 't', namespace 'ns'") != std::string::npos);
    }
}

TEST_CASE("random bytes never crash a reader") {
    const unsigned seed = tests::seed();
    MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    const auto upTo = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random); };
    unsigned other = 0;
    for (int round = 0; round < static_cast<int>(sanitized::some(20'000)); ++round) {
        std::string bytes(upTo(200), '\0');
        for (char& c : bytes) c = static_cast<char>(upTo(255));
        if (!bytes.empty()) bytes[0] = 1;
        other += !isCorrupt(bytes, round % 2 == 0);
    }
    CHECK(other == 0);

    // These pass the checksum: parts of good records in a wrong order, sealed as a writer would.
    const std::vector<std::string> parts{value, writes_item, operations_item, metadata_item};
    unsigned survived = 0;
    for (int round = 0; round < static_cast<int>(sanitized::some(20'000)); ++round) {
        std::string item = parts[upTo(3)];
        for (std::size_t n = upTo(3); n > 0; --n) item[upTo(item.size() - 1)] = static_cast<char>(upTo(255));
        item.resize(1 + upTo(item.size() - 1));
        CommitFields commit = fullCommit();
        TaskFields task = fullTask();
        switch (upTo(4)) {
            case 0:
                commit.operations = item;
                break;
            case 1:
                commit.metadata = item;
                break;
            case 2:
                commit.input = item;
                break;
            case 3:
                commit.sends[0].payload = item;
                break;
            default:
                task.interrupts[0].value = item;
                break;
        }
        for (const bool is_task : {false, true}) {
            try {
                readAll(is_task ? record(task) : record(commit), is_task);
                ++survived;
            } catch (const CorruptCheckpointError&) {
            } catch (const WrongTypeError&) {  // of readOperations: its caller names the row
            }
        }
    }
    CHECK(survived > 0);
}

}  // namespace stategraph::testing
