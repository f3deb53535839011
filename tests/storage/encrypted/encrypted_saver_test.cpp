#include <stategraph/encrypted_saver.hpp>

#include <set>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#endif
#include <stategraph/testing/saver_contract.hpp>

#include "src/checkpoint/sealed_record.hpp"
#include "tests/support/encryption.hpp"
#include "tests/support/savers.hpp"
#include "tests/support/temporary_folder.hpp"

// The contract, keys, and conditional pending writes. For attacks on rows see encrypted_rows_test.cpp.
using namespace encryption;

namespace {

template <class Store>
struct EncryptedFactory {
    std::unique_ptr<sg::BaseCheckpointSaver> make() { return reopen(); }
    std::unique_ptr<sg::BaseCheckpointSaver> reopen() {
        return std::make_unique<sg::EncryptedSaver>(store.open(), key("k"));
    }
    Store store;
};

using EncryptedMemory = EncryptedFactory<savers::MemoryStore>;

#if STATEGRAPH_HAS_ROCKSDB
struct InRocksDB {
    std::shared_ptr<sg::BaseCheckpointSaver> open() {
        return std::make_shared<sg::RocksDBSaver>((folder / "db").string());
    }
    TemporaryFolder folder;
};
using EncryptedRocksDB = EncryptedFactory<InRocksDB>;
#endif

}  // namespace

STATEGRAPH_SAVER_CONTRACT(EncryptedMemory);
#if STATEGRAPH_HAS_ROCKSDB
STATEGRAPH_SAVER_CONTRACT(EncryptedRocksDB);
#endif

namespace stategraph::testing {
namespace {

std::string pendingAt(BaseCheckpointSaver& saver, const LogName& log, CheckpointId id, std::string_view path) {
    const auto tuple = saver.getTuple({.log = log, .checkpoint_id = id});
    if (!tuple) return {};
    for (const auto& write : tuple->writes) {
        if (write.path == path) return write.bytes;
    }
    return {};
}

void putIf(BaseCheckpointSaver& saver, std::string_view expected, std::string_view bytes) {
    const WriteRow row{nthId(1), "p", bytes, expected};
    saver.putWrites({"t"}, nthId(1), {&row, 1});
}

}  // namespace

TEST_CASE("an encrypting saver without a saver, a function or a usable key is refused by name") {
    const auto inner = std::make_shared<MemorySaver>();
    CHECK(has(errorOf([] { EncryptedSaver(nullptr, ::key("k")); }), "InvalidArgumentError: the inner saver is null"));
    EncryptionOptions without_current = ::key("k");
    without_current.current_key = nullptr;
    CHECK(has(errorOf([&] { EncryptedSaver(inner, without_current); }),
              "InvalidArgumentError: EncryptedSaver: current_key"));
    EncryptionOptions without_find = ::key("k");
    without_find.find_key = nullptr;
    CHECK(has(errorOf([&] { EncryptedSaver(inner, without_find); }),
              "InvalidArgumentError: EncryptedSaver: current_key"));

    const auto putWith = [&](const EncryptionOptions& options) {
        return errorOf([&] {
            EncryptedSaver saver(inner, options);
            putLine(saver, {"t"}, 1);
        });
    };
    CHECK(has(putWith(::key("")), "InvalidArgumentError: an encryption key's id has 0 bytes"));
    CHECK(has(putWith(::key(std::string(256, 'x'))), "an encryption key's id has 256 bytes"));
    CHECK(has(putWith(EncryptionOptions::withKey("zeros", {})), "the encryption key 'zeros' is 32 zeros"));
    CHECK(inner->list({}).empty());
    CHECK(putWith(::key(std::string(255, 'x'))).empty());
}

TEST_CASE("what current_key throws passes through, and nothing is stored") {
    const auto inner = std::make_shared<MemorySaver>();
    bool fails = true;
    EncryptionOptions options = ::key("k");
    options.current_key = [&, good = options.current_key] {
        if (fails) throw std::out_of_range("the key service is down");
        return good();
    };
    EncryptedSaver saver(inner, options);
    const TestCommit commit = makeCommit(1, 0);
    CHECK_THROWS_AS(putOne(saver, {"t"}, {}, commit), std::out_of_range);
    CHECK(inner->list({.with_writes = true}).empty());
    fails = false;
    putOne(saver, {"t"}, {}, commit);
    fails = true;
    CHECK_THROWS_AS(putWrite(saver, {"t"}, nthId(1), nthId(1), "p", makeTask(nthId(1), true)), std::out_of_range);
    CHECK_THROWS_AS(saver.copyThread("t", "u"), std::out_of_range);
    CHECK(inner->getTuple({.log = {"t"}})->writes.empty());
    CHECK(inner->list({.thread_id = "u"}).empty());
    // Reading does not need the current key.
    CHECK(saver.getTuple({.log = {"t"}})->commits.at(0).bytes == commit.bytes);
}

TEST_CASE("what find_key throws passes through, and a key of another name is refused") {
    const auto inner = std::make_shared<MemorySaver>();
    EncryptionOptions options = ::key("k");
    EncryptedSaver writer(inner, options);
    putLine(writer, {"t"}, 1);

    options.find_key = [](std::string_view) -> std::optional<EncryptionKey> { throw std::out_of_range("no service"); };
    EncryptedSaver failing(inner, options);
    CHECK_THROWS_AS(failing.getTuple({.log = {"t"}}), std::out_of_range);
    CHECK_THROWS_AS(failing.list({}), std::out_of_range);

    options.find_key = [](std::string_view) { return EncryptionKey("other", keyBytes(1)); };
    EncryptedSaver confused(inner, options);
    CHECK(has(errorOf([&] { confused.getTuple({.log = {"t"}}); }),
              "asked for the encryption key 'k' and returned 'other'"));
}

TEST_CASE("records under older keys stay readable when the key changes, and are not without them") {
    savers::onEach([](savers::Store& store) {
        KeyTable keys{.seeds = {{"2025", 1}, {"2026", 2}}, .current = "2025"};
        const std::shared_ptr<BaseCheckpointSaver> inner = store.open();
        EncryptedSaver saver(inner, keys.options());
        putLine(saver, {"t"}, 2, true);
        putWrite(saver, {"t"}, nthId(2), nthId(2), "old", makeTask(nthId(2), true));
        keys.current = "2026";  // the same saver object uses it from now on
        putWrite(saver, {"t"}, nthId(2), nthId(2), "new", makeTask(nthId(2), true));
        putOne(saver, {"t"}, nthId(2), makeCommit(3, 2, 1));

        const auto keyIds = [&] {
            std::vector<std::string> ids;
            for (const auto& row : inner->list({.thread_id = "t"})) {
                ids.emplace_back(checkpoint::readSealed({"t", "", row.id}, row.bytes).key_id);
            }
            return ids;
        };
        CHECK(keyIds() == std::vector<std::string>{"2026", "2025", "2025"});
        const auto newest = saver.getTuple({.log = {"t"}});
        REQUIRE(newest);
        CHECK(idsOf(newest->commits) == nthIds({1, 2, 3}));
        CHECK(newest->commits[0].bytes == makeCommit(1, 0).bytes);
        CHECK(newest->commits[2].bytes == makeCommit(3, 2, 1).bytes);
        CHECK(saver.getTuple({.log = {"t"}, .checkpoint_id = nthId(2)})->writes.size() == 2);

        EncryptedSaver without_old(inner, ::key("2026", 2));
        const std::string said = errorOf([&] { without_old.getTuple({.log = {"t"}}); });
        CAPTURE(said);
        CHECK(has(said, "CorruptCheckpointError"));
        CHECK(has(said, RowKey{"t", "", nthId(1)}.toString()));
        CHECK(has(said, "the key '2025', which find_key does not know"));
        // Everything that this reads is encrypted with the new key.
        CHECK_FALSE(has(errorOf([&] { without_old.list({.limit = 1}); }), "Error"));
    });
}

TEST_CASE("two tenants with keys of their own in one store cannot read each other's threads") {
    savers::onEach([](savers::Store& store) {
        const std::shared_ptr<BaseCheckpointSaver> inner = store.open();
        EncryptedSaver ada(inner, ::key("ada", 1));
        EncryptedSaver bob(inner, ::key("bob", 2));
        EncryptedSaver eve(inner, ::key("bob", 3));  // she claims to have Bob's key
        putLine(ada, {"of ada"}, 2);
        putLine(bob, {"of bob"}, 2);
        putWrite(bob, {"of bob"}, nthId(2), nthId(2), "p", makeTask(nthId(2), true));
        CHECK(ada.list({.thread_id = "of ada"}).size() == 2);
        CHECK(bob.list({.thread_id = "of bob", .with_writes = true}).size() == 2);
        const auto refuses = [](EncryptedSaver& saver, const std::string& thread_id, std::string_view why) {
            for (const std::string& said : {errorOf([&] { saver.getTuple({.log = {thread_id}}); }),
                                            errorOf([&] { saver.list({.thread_id = thread_id}); }),
                                            errorOf([&] { saver.copyThread(thread_id, "copy"); })}) {
                CAPTURE(said);
                CHECK(has(said, "CorruptCheckpointError"));
                CHECK(has(said, why));
            }
            // Without a thread id the call skips them and reports that.
            const auto rows = saver.list({.with_writes = true});
            CHECK(rows.size() == 4);
            for (const auto& row : rows) {
                CHECK(row.damaged.empty() == (row.thread_id != thread_id));
                if (row.thread_id != thread_id) continue;
                CHECK(has(row.damaged, why));
                CHECK(row.bytes.empty());
                CHECK(row.writes.empty());
            }
        };
        refuses(ada, "of bob", "the key 'bob', which find_key does not know");
        refuses(bob, "of ada", "the key 'ada', which find_key does not know");
        CHECK(has(errorOf([&] { eve.getTuple({.log = {"of bob"}}); }), "authentication failed"));
        CHECK(has(errorOf([&] { eve.list({.thread_id = "of bob"}); }), "authentication failed"));
        CHECK(inner->list({.thread_id = "copy"}).empty());
    });
}

TEST_CASE("the same content is never stored as the same bytes") {
    const auto inner = std::make_shared<MemorySaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putLine(saver, {"t"}, 1);
    const std::string task = makeTask(nthId(1), true);
    std::set<std::string> nonces;
    std::set<std::string> ciphertexts;
    for (int i = 0; i < 500; ++i) {
        const std::vector<WriteRow> rows{{nthId(1), "p", task}, {nthId(1), "q", task}};
        saver.putWrites({"t"}, nthId(1), rows);
        const auto tuple = inner->getTuple({.log = {"t"}});
        REQUIRE(tuple);
        for (const auto& write : tuple->writes) {
            const auto fields = checkpoint::readSealed({"t", "", nthId(1), write.path}, write.bytes);
            nonces.emplace(fields.nonce);
            ciphertexts.emplace(fields.box);
        }
    }
    CHECK(nonces.size() == 1000);
    CHECK(ciphertexts.size() == 1000);
    CHECK(pendingAt(saver, {"t"}, nthId(1), "q") == task);
}

TEST_CASE("a record takes about 60 bytes more when it is encrypted") {
    const auto inner = std::make_shared<MemorySaver>();
    EncryptedSaver saver(inner, ::key("2026"));
    const TestCommit commit = makeCommit(2, 1, 1, std::string(10'000, 'x'));
    putLine(saver, {"t"}, 1);
    putOne(saver, {"t"}, nthId(1), commit);
    const std::size_t more = inner->list({.limit = 1}).at(0).bytes.size() - commit.bytes.size();
    CHECK(more > 40);
    CHECK(more < 80);
}

TEST_CASE("a conditional pending write is stored only over the content that it expects") {
    const auto inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putLine(saver, {"t"}, 1);
    const auto refuses = [&](std::string_view expected) {
        return has(errorOf([&] { putIf(saver, expected, "refused"); }),
                   "ConcurrentUpdateError: another run changed the pending write 'p'");
    };
    CHECK(refuses("anything"));
    putIf(saver, "", "first");
    CHECK(refuses(""));
    CHECK(refuses("second"));
    CHECK(pendingAt(saver, {"t"}, nthId(1), "p") == "first");
    putIf(saver, "first", "second");
    CHECK(refuses("first"));
    putIf(saver, "second", "third");
    CHECK(pendingAt(saver, {"t"}, nthId(1), "p") == "third");

    // The head is still checked, and a nonexistent checkpoint has no such row.
    const WriteRow late{nthId(1), "p", "late", "third"};
    CHECK(has(errorOf([&] {
                  saver.putWrites({"t"}, nthId(2), {&late, 1});
              }),
              "ConcurrentUpdateError: another run committed first"));
    const WriteRow nowhere{nthId(7), "p", "late", "third"};
    CHECK_THROWS_AS(saver.putWrites({"t"}, nthId(1), {&nowhere, 1}), ConcurrentUpdateError);
    CHECK(pendingAt(saver, {"t"}, nthId(1), "p") == "third");
}

TEST_CASE("of rivals between reading and storing a conditional pending write the inner saver decides") {
    const auto inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putLine(saver, {"t"}, 1);
    putIf(saver, "", "first");
    int rivals = 0;
    inner->before_put = [&](const PutRequest&) {
        if (rivals++ == 0) putIf(saver, "first", "the rival's");
    };
    CHECK_THROWS_AS(putIf(saver, "first", "the loser's"), ConcurrentUpdateError);
    CHECK(rivals == 2);
    CHECK(pendingAt(saver, {"t"}, nthId(1), "p") == "the rival's");
    // The other writer stored the same content as before, but in a new row.
    rivals = 0;
    inner->before_put = [&](const PutRequest&) {
        if (rivals++ == 0) putIf(saver, "the rival's", "the rival's");
    };
    CHECK_THROWS_AS(putIf(saver, "the rival's", "the loser's"), ConcurrentUpdateError);
    CHECK(pendingAt(saver, {"t"}, nthId(1), "p") == "the rival's");
}

TEST_CASE("found keys are kept, as many as the options say") {
    const auto inner = std::make_shared<MemorySaver>();
    KeyTable keys;
    for (int i = 0; i < 20; ++i) {
        keys.current = "key " + std::to_string(i);
        keys.seeds[keys.current] = static_cast<unsigned char>(i + 1);
        EncryptedSaver saver(inner, keys.options());
        putLine(saver, {"t" + std::to_string(i)}, 1);
    }
    const auto findsOf = [&](std::size_t cached_keys_max, int threads, int rounds) {
        keys.cached_keys_max = cached_keys_max;
        keys.finds = 0;
        EncryptedSaver saver(inner, keys.options());
        for (int round = 0; round < rounds; ++round) {
            for (int i = 0; i < threads; ++i) CHECK(saver.getTuple({.log = {"t" + std::to_string(i)}}));
        }
        return keys.finds;
    };
    CHECK(findsOf(0, 20, 3) == 60);
    CHECK(findsOf(1, 1, 10) == 1);
    CHECK(findsOf(1, 2, 10) == 20);  // each entry evicts the other one
    CHECK(findsOf(64, 5, 10) == 5);
    CHECK(findsOf(1000, 20, 3) == 20);
}

TEST_CASE("many readers of records under several keys agree") {
    const auto inner = std::make_shared<MemorySaver>();
    for (unsigned char i = 0; i < 6; ++i) {
        EncryptedSaver saver(inner, ::key("key " + std::to_string(i), static_cast<unsigned char>(i + 1)));
        putLine(saver, {"t" + std::to_string(i)}, 3, true);
    }
    EncryptionOptions options = ::key("unused");
    options.cached_keys_max = 3;
    options.find_key = [](std::string_view id) {
        return EncryptionKey(std::string(id), keyBytes(static_cast<unsigned char>(id.back() - '0' + 1)));
    };
    EncryptedSaver saver(inner, options);
    std::atomic<int> right{0};
    std::vector<std::thread> readers;
    for (int reader = 0; reader < 4; ++reader) {
        readers.emplace_back([&] {
            for (int i = 0; i < 120; ++i) {
                const std::string thread_id = "t" + std::to_string(i % 6);
                const auto tuple = saver.getTuple({.log = {thread_id}});
                right += tuple && tuple->commits.at(2).bytes == makeCommit(3, 2, 1).bytes;
            }
        });
    }
    for (auto& reader : readers) reader.join();
    CHECK(right == 480);
}

TEST_CASE("an encrypting saver asks the inner one how slow and how large it is") {
    const auto inner = std::make_shared<UntrustedSaver>();
    EncryptedSaver saver(inner, ::key("k"));
    CHECK(saver.storedBytes() == 4711);
    CHECK_FALSE(saver.putIsSlow());
    inner->is_slow = true;
    CHECK(saver.putIsSlow());
}

TEST_CASE("pruning needs no key") {
    savers::onEach([](savers::Store& store) {
        const std::shared_ptr<BaseCheckpointSaver> inner = store.open();
        EncryptedSaver saver(inner, ::key("k"));
        for (unsigned n = 1; n <= 6; ++n) {
            putOne(saver, {"t"}, n > 1 ? nthId(n - 1) : CheckpointId(), makeCommit(n, n - 1, n >= 5 ? 4 : 0));
        }
        putWrite(saver, {"t"}, nthId(6), nthId(2), "p", makeTask(nthId(2), true));
        putWrite(saver, {"t"}, nthId(6), nthId(1), "p", makeTask(nthId(1), false));
        CHECK(inner->prune({.keep_last = 1}) == 2);
        CHECK(listIds(saver, {"t"}) == nthIds({6, 5, 4, 2}));
    });
}

TEST_CASE("a pending write that no reader understands counts as an open interrupt") {
    const auto inner = std::make_shared<MemorySaver>();
    EncryptedSaver saver(inner, ::key("k"));
    putLine(saver, {"t"}, 3);
    putWrite(saver, {"t"}, nthId(3), nthId(1), "p", "of another program");
    CHECK(saver.prune({.keep_last = 1}) == 1);
    CHECK(listIds(saver, {"t"}) == nthIds({3, 1}));
    CHECK(pendingAt(saver, {"t"}, nthId(1), "p") == "of another program");
}

}  // namespace stategraph::testing
