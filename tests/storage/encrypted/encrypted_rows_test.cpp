// NOT WITH: sanitize=thread
#include <stategraph/encrypted_saver.hpp>

#include <doctest/doctest.h>

#include <stategraph/testing/saver_contract/support.hpp>

#include "src/checkpoint/record.hpp"
#include "src/checkpoint/record_frame.hpp"
#include "src/checkpoint/sealed_record.hpp"
#include "tests/support/encryption.hpp"

// What an attacker who has the store but not the key can do to rows, and what can be read without a key.
using namespace encryption;

namespace stategraph::testing {
namespace {

constexpr std::size_t frame_size = 9;

// Row keys that own their texts.
struct Place {
    std::string thread_id = "t";
    std::string ns = {};
    unsigned n = 2;
    std::optional<std::string> path = {};  // without one: a commit

    bool is(const RowKey& key, bool is_commit) const {
        return key.thread_id == thread_id && key.checkpoint_ns == ns && key.id == nthId(n) && is_commit == !path &&
               (is_commit || key.path == *path);
    }
    RowKey key() const { return {thread_id, ns, nthId(n), path ? std::string_view(*path) : std::string_view()}; }
};

// A checksum is not secret, so an attacker can correct it.
std::string withChecksum(CheckpointId id, const std::string& bytes) {
    std::string framed;
    const std::size_t start = checkpoint::openFrame(framed, static_cast<unsigned char>(bytes[0]));
    framed += bytes.substr(frame_size);
    checkpoint::closeFrame(id, framed, start);
    return framed;
}

// Logs of three commits (the third based on the second, the second on the first), with pending writes at the second.
class World {
public:
    World() {
        for (const std::string thread_id : {"t", "u"}) {
            for (const std::string ns : {"", "child:1", "child:2"}) {
                const LogName log{thread_id, ns};
                putLine(saver, log, 3, true);
                for (const std::string path : {"pull:a", "pull:b", ""}) {
                    putWrite(saver, log, nthId(3), nthId(2), path, makeTask(nthId(2), true));
                }
            }
        }
    }

    std::string stored(const Place& place) {
        const auto tuple = inner->getTuple({.log = {place.thread_id, place.ns}, .checkpoint_id = nthId(place.n)});
        if (!place.path) return std::string(tuple->commits.back().bytes);
        for (const auto& write : tuple->writes) {
            if (write.path == *place.path) return write.bytes;
        }
        throw std::logic_error("no such row");
    }

    // The result of reading the place when it has these bytes. Every way of reading it is tried; if the results differ,
    // all are listed.
    std::string readWith(const Place& place, const std::string& bytes) {
        const LogName log{place.thread_id, place.ns};
        auto original = stored(place);
        inner->alter = [&](const RowKey& key, std::string& row) {
            if (row == original && place.key().thread_id == key.thread_id) row = bytes;
        };
        const std::string by_tuple = errorOf([&] { saver.getTuple({.log = log, .checkpoint_id = nthId(place.n)}); });
        const std::string by_list = errorOf([&] { saver.list({.thread_id = place.thread_id, .with_writes = true}); });
        const std::string by_next =
            place.path ? by_tuple : errorOf([&] { saver.getTuple({.log = log, .checkpoint_id = nthId(place.n - 1)}); });
        inner->alter = nullptr;
        return by_tuple == by_list && by_tuple == by_next ? by_tuple : by_tuple + " | " + by_list + " | " + by_next;
    }

    std::shared_ptr<UntrustedSaver> inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver{inner, ::key("k")};
};

bool isRefused(const std::string& said, const Place& place) {
    return said.starts_with("CorruptCheckpointError: the record " + place.key().toString() + " cannot be read: ");
}

const std::vector<Place> a_commit_and_a_write = {Place{}, Place{.path = "pull:a"}};

}  // namespace

TEST_CASE("an encrypted row is good for its thread, namespace, checkpoint, path and kind alone") {
    World world;
    const std::vector<Place> places = {
        {},
        {.thread_id = "u"},
        {.ns = "child:1"},
        {.ns = "child:2"},
        {.n = 3},
        {.path = "pull:a"},
        {.path = "pull:b"},
        {.path = ""},
        {.thread_id = "u", .path = "pull:a"},
        {.ns = "child:1", .path = "pull:a"},
        {.thread_id = "u", .ns = "child:2"},
    };
    for (const Place& from : places) {
        for (const Place& to : places) {
            CAPTURE(from.key().toString());
            CAPTURE(to.key().toString());
            const std::string row = withChecksum(nthId(to.n), world.stored(from));
            const std::string said = world.readWith(to, row);
            CAPTURE(said);
            const bool is_same = &from == &to;
            CHECK(said.empty() == is_same);
            if (is_same) continue;
            CHECK(isRefused(said, to));
            CHECK(has(said, "authentication failed"));
        }
    }
}

TEST_CASE("a row in the clear is refused where encrypted ones are expected") {
    World world;
    for (const Place& place : a_commit_and_a_write) {
        const std::string plain = place.path ? makeTask(nthId(2), true) : makeCommit(2, 1, 1).bytes;
        const std::string said = world.readWith(place, plain);
        CAPTURE(said);
        CHECK(isRefused(said, place));
        CHECK(has(said, "it is not encrypted"));
        CHECK(isRefused(world.readWith(place, ""), place));
        CHECK(isRefused(world.readWith(place, "\x01"), place));
    }
    // The whole thread comes from a program without encryption.
    putLine(*world.inner, {"plain"}, 2);
    CHECK(has(errorOf([&] { world.saver.getTuple({.log = {"plain"}}); }), "it is not encrypted"));
    CHECK(has(errorOf([&] { world.saver.list({.thread_id = "plain"}); }), "it is not encrypted"));
    CHECK(has(errorOf([&] { world.saver.copyThread("plain", "copy"); }), "it is not encrypted"));
}

TEST_CASE("a row with any bit changed is refused, whether or not its checksum fits") {
    World world;
    for (const Place& place : a_commit_and_a_write) {
        const std::string bytes = world.stored(place);
        std::size_t refused = 0;
        std::size_t tried = 0;
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            for (const unsigned bits : {0x01U, 0x02U, 0x03U, 0x04U, 0x08U, 0x10U, 0x20U, 0x40U, 0x80U, 0xFFU}) {
                std::string changed = bytes;
                changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ bits);
                ++tried;
                refused += isRefused(world.readWith(place, changed), place);
                if (at < frame_size) continue;
                ++tried;
                refused += isRefused(world.readWith(place, withChecksum(nthId(place.n), changed)), place);
            }
        }
        CHECK(tried > 1500);
        CHECK(refused == tried);
    }
}

TEST_CASE("a row cut short or made longer is refused, whether or not its checksum fits") {
    World world;
    for (const Place& place : a_commit_and_a_write) {
        const std::string bytes = world.stored(place);
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            const std::string cut = bytes.substr(0, size);
            CHECK(isRefused(world.readWith(place, cut), place));
            if (size > frame_size) CHECK(isRefused(world.readWith(place, withChecksum(nthId(place.n), cut)), place));
        }
        for (const std::string& more : {std::string(1, '\0'), std::string("x"), bytes, std::string(16, '\0')}) {
            CHECK(isRefused(world.readWith(place, bytes + more), place));
            CHECK(isRefused(world.readWith(place, withChecksum(nthId(place.n), bytes + more)), place));
        }
        CHECK(world.readWith(place, bytes).empty());
    }
}

TEST_CASE("links and open interrupts are read without a key as from the record in the clear") {
    World world;
    for (const unsigned n : {1U, 2U, 3U}) {
        const Place place{.n = n};
        const RecordLinks links = readLinks(place.key(), world.stored(place));
        const RecordLinks clear = readLinks(place.key(), makeCommit(n, n - 1, 1).bytes);
        CHECK(links.parent == clear.parent);
        CHECK(links.base == nthId(1));
        CHECK(links.root == clear.root);
        CHECK(links.is_finished == clear.is_finished);
    }
    const Place write{.path = "pull:a"};
    CHECK(hasOpenInterrupt(write.key(), world.stored(write)));
    putWrite(world.saver, {"t"}, nthId(3), nthId(2), "pull:a", makeTask(nthId(2), false));
    CHECK_FALSE(hasOpenInterrupt(write.key(), world.stored(write)));

    // A commit of a subgraph with a due task, of a different run than its parent.
    const CheckpointId other_run(nthId(2).high() - 5, 0x9000'0000'0000'0001ULL);
    checkpoint::CommitFields fields{.id = nthId(2), .parent = other_run, .base = nthId(1), .step = 4};
    fields.next = {"node"};
    fields.parents = {{"", nthId(40)}, {"child:1", nthId(41)}};
    std::string bytes;
    checkpoint::writeCommit(fields, bytes);
    putOne(world.saver, {"v"}, {}, {nthId(1), {}, nthId(1), makeCommit(1, 0).bytes});
    putOne(world.saver, {"v"}, nthId(1), {nthId(2), {}, nthId(1), bytes});
    const Place place{.thread_id = "v"};
    const RecordLinks links = readLinks(place.key(), world.stored(place));
    CHECK(links.parent == other_run);
    CHECK(links.base == nthId(1));
    CHECK(links.root == nthId(40));
    CHECK_FALSE(links.is_finished);
}

TEST_CASE("reading more than that without a key says that the record is encrypted") {
    World world;
    const Place commit;
    const Place write{.path = "pull:a"};
    const std::string commit_row = world.stored(commit);
    const std::string write_row = world.stored(write);
    for (const std::string& said : {errorOf([&] { readHeader(commit.key(), commit_row); }),
                                    errorOf([&] { checkpoint::readCommit(commit.key(), commit_row); }),
                                    errorOf([&] { checkpoint::readTask(commit.key(), commit_row); })}) {
        CHECK(isRefused(said, commit));
        CHECK(has(said, "it is encrypted; read it through the EncryptedSaver"));
    }
    CHECK(has(errorOf([&] { checkpoint::readTask(write.key(), write_row); }), "it is encrypted"));
    CHECK(has(errorOf([&] { readLinks(write.key(), write_row); }), "it is not a commit's"));
    CHECK(has(errorOf([&] { hasOpenInterrupt(commit.key(), commit_row); }), "it is not a pending write's"));
}

TEST_CASE("damaged encrypted rows are read without a key as something or refused by name, never worse") {
    World world;
    for (const Place& place : a_commit_and_a_write) {
        const std::string bytes = world.stored(place);
        const auto read = [&](const std::string& row) {
            return errorOf([&] {
                if (place.path) {
                    hasOpenInterrupt(place.key(), row);
                } else {
                    readLinks(place.key(), row);
                }
            });
        };
        std::size_t refused = 0;
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                std::string changed = bytes;
                changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
                CHECK(isRefused(read(changed), place));
                if (at < frame_size) continue;
                const std::string said = read(withChecksum(nthId(place.n), changed));
                CHECK((said.empty() || isRefused(said, place)));
                refused += !said.empty();
            }
            if (at > frame_size) {
                const std::string said = read(withChecksum(nthId(place.n), bytes.substr(0, at)));
                CHECK((said.empty() || isRefused(said, place)));
            }
        }
        CHECK(refused > 50);
    }
}

TEST_CASE("a row that another program encrypted by the written grammar is read") {
    // Made with Python's cryptography package (AESGCM) from the grammar in src/checkpoint/record.hpp.
    const std::string_view hex =
        "83a1646f70656ef5616b4ca0a1a2a3a4a5a6a7a8a9aaab305f97f5c9e072c371894c65b3a0fd16dccf11402fa018f91fa930f666413b";
    std::string row;
    const std::size_t start = checkpoint::openFrame(row, checkpoint::sealed_version);
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        row.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    }
    checkpoint::closeFrame(nthId(1), row, start);

    const auto inner = std::make_shared<MemorySaver>();
    EncryptedSaver saver(inner, ::key("k"));
    const LogName log{"t", "child:x"};
    putLine(saver, log, 1);
    putWrite(*inner, log, nthId(1), nthId(1), "pull:ask", row);
    const auto tuple = saver.getTuple({.log = log});
    REQUIRE(tuple);
    REQUIRE(tuple->writes.size() == 1);
    CHECK(tuple->writes[0].bytes == "a pending write");
}

}  // namespace stategraph::testing
