// NOT WITH: sanitize=thread
#include "storage/store/item_record.hpp"

#include <stategraph/error.hpp>

#include "storage/store/keys.hpp"
#include "tests/checkpoint/bytes.hpp"
#include "tests/storage/store/stores.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stategraph::stores {
namespace {

using namespace under_test;

const std::string item_key = rowKey(Table::items, itemName({"users", "alice"}, "name"));
const std::string vectors_key = rowKey(Table::vectors, itemName({"users", "alice"}, "name"));

std::string sampleItem() {
    static const Value value = Doc{{"first", "Alice"}, {"n", 5}};
    return writeItem(item_key, {.created_at_unix_us = 1,
                                .updated_at_unix_us = 2,
                                .ttl_ms = 3,
                                .expires_at_unix_us = 4,
                                .vectors = 5,
                                .value = value.bytes()});
}
std::string sampleVectors() {
    const std::vector<float> floats = {1, -2, 0.5F, 4};
    return writeVectors(vectors_key, 2, floats);
}

void fixChecksum(std::string_view key, std::string& record) {
    if (record.size() < 9) return;
    const std::string_view body = std::string_view(record).substr(9);
    const std::uint64_t sum = XXH3_64bits_withSeed(body.data(), body.size(), XXH3_64bits(key.data(), key.size()));
    for (std::size_t i = 0; i < 8; ++i) record[1 + i] = static_cast<char>(sum >> (56U - 8U * i));
}

bool isRefused(std::string_view key, std::string_view bytes) {
    try {
        if (key[0] == static_cast<char>(Table::items)) {
            (void)readItem(key, bytes);
        } else {
            std::vector<float> floats;
            readVectors(key, bytes, 2, 2, floats);
        }
        return false;
    } catch (const CorruptStoreError& error) {
        CHECK(has(error.message(), "the item 'name' in namespace 'users.alice' is damaged"));
        CHECK((error.code() == Errc::corrupt_store));
        return true;
    } catch (const StoreError& error) {
        return has(error.message(), "put it again");  // vectors of another size
    }
}

TEST_CASE("a store's records are read back as they were written") {
    const std::string bytes = sampleItem();
    const ItemRecord record = readItem(item_key, bytes);
    CHECK(record.created_at_unix_us == 1);
    CHECK(record.updated_at_unix_us == 2);
    CHECK(record.ttl_ms == 3);
    CHECK(record.expires_at_unix_us == 4);
    CHECK(record.vectors == 5);
    CHECK(record.value == Value(Doc{{"first", "Alice"}, {"n", 5}}).bytes());
    std::vector<float> floats;
    readVectors(vectors_key, sampleVectors(), 2, 2, floats);
    CHECK(floats == std::vector<float>{1, -2, 0.5F, 4});
}

TEST_CASE("the bytes of a store's records and keys do not change from version to version") {
    CHECK(bytes::toHex(rowKey(Table::items, itemName({"a", std::string("\0b", 2)}, "k"))) ==
          "69"
          "61"
          "0001"
          "00ff62"
          "0001"
          "0000"
          "6b");
    CHECK(bytes::toHex(expiryKey(0x0102030405060708, "n")) ==
          "650102030405060708"
          "6e");
    CHECK(bytes::toHex(sampleItem()) == "015387b1d9b8c253cd860102030405a2616e0565666972737465416c696365");
    CHECK(bytes::toHex(sampleVectors()) == "01aa6b7f43365662738202500000803f000000c00000003f00008040");
}

TEST_CASE("a store's record that was cut or altered anywhere is refused, and the message names the item") {
    for (const auto& [key, whole] : {std::pair(item_key, sampleItem()), std::pair(vectors_key, sampleVectors())}) {
        for (std::size_t size = 0; size < whole.size(); ++size) CHECK(isRefused(key, whole.substr(0, size)));
        CHECK(isRefused(key, whole + '\0'));
        for (std::size_t at = 0; at < whole.size(); ++at) {
            for (int bit = 0; bit < 8; ++bit) {
                std::string altered = whole;
                altered[at] = static_cast<char>(altered[at] ^ (1 << bit));
                CHECK(isRefused(key, altered));
            }
        }
    }
}

TEST_CASE("a record under another item's key is refused") {
    const std::string other = rowKey(Table::items, itemName({"users", "bob"}, "name"));
    CHECK_THROWS_AS((void)readItem(other, sampleItem()), CorruptStoreError);
    std::vector<float> floats;
    CHECK_THROWS_AS(readVectors(rowKey(Table::vectors, itemName({"users"}, "name")), sampleVectors(), 2, 2, floats),
                    CorruptStoreError);
}

TEST_CASE("hostile records whose checksum fits are read or refused, and nothing else") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    std::size_t refused = 0;
    for (int i = 0; i < 4000; ++i) {
        const bool is_item = random.chance(2);
        const std::string& key = is_item ? item_key : vectors_key;
        std::string record = is_item ? sampleItem() : sampleVectors();
        for (std::size_t edits = 1 + random.below(3); edits > 0; --edits) {
            if (record.size() > 9 && random.chance(4)) record.resize(9 + random.below(record.size() - 9));
            if (record.size() > 9) record[9 + random.below(record.size() - 9)] = static_cast<char>(random.bits());
        }
        fixChecksum(key, record);
        refused += isRefused(key, record) ? 1 : 0;
    }
    CHECK(refused > 0);
}

TEST_CASE("a record of a newer version is refused with the cure") {
    std::string record = sampleItem();
    record[0] = 3;
    CHECK(has(messageOf<CorruptStoreError>([&] { (void)readItem(item_key, record); }), "use a newer stategraph"));
    record[0] = 2;
    CHECK(has(messageOf<CorruptStoreError>([&] { (void)readItem(item_key, record); }), "it is encrypted"));
}

TEST_CASE("vectors of another size than the index's are refused with the cure") {
    std::vector<float> floats;
    const auto message = messageOf<StoreError>([&] { readVectors(vectors_key, sampleVectors(), 4, 1, floats); });
    CHECK(has(message, "has vectors of 2 numbers, and the index of 4; put it again"));
    CHECK_THROWS_AS(readVectors(vectors_key, sampleVectors(), 2, 3, floats), CorruptStoreError);
}

TEST_CASE("names order as namespaces and keys do, and are read back") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    const auto text = [&] {
        std::string out(1 + random.below(3), ' ');
        for (char& c : out)
            c = std::string_view(
                "\0\x01\xFE\xFF"
                "a",
                5)[random.below(5)];
        return out;
    };
    std::pair<StoreNamespace, std::string> before{{"a"}, "a"};
    for (int i = 0; i < 5000; ++i) {
        std::pair<StoreNamespace, std::string> now{{}, text()};
        for (std::size_t labels = 1 + random.below(3); labels > 0; --labels) now.first.push_back(text());
        const std::string a = itemName(before.first, before.second);
        const std::string b = itemName(now.first, now.second);
        CHECK((before < now) == (a < b));
        CHECK((before == now) == (a == b));
        const auto parsed = parseName(b);
        REQUIRE(parsed.has_value());
        CHECK(parsed->ns == now.first);
        CHECK(parsed->key == now.second);
        const bool below = before.first.size() <= now.first.size() &&
                           std::equal(before.first.begin(), before.first.end(), now.first.begin());
        CHECK(b.starts_with(namespacePrefix(before.first)) == below);
        before = now;
    }
    for (const std::string_view bad :
         {std::string_view(""), std::string_view("a"), std::string_view("\0\0k", 3), std::string_view("a\0\1", 3),
          std::string_view("a\0\1\0\0", 5), std::string_view("\0\1\0\0k", 5), std::string_view("a\0\2b\0\1\0\0k", 9)}) {
        CHECK(!parseName(bad).has_value());
    }
}

}  // namespace
}  // namespace stategraph::stores
