#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_store.hpp>

// Databases with items of consecutive keys, whose files tests damage.
namespace damaged {

namespace fs = std::filesystem;
namespace sg = stategraph;

inline std::string contentOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
inline void writeFile(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::string keyOf(int n) {
    const std::string digits = std::to_string(n);
    return "k" + std::string(4 - digits.size(), '0') + digits;
}

/// Puts the items from `from` up to `to`. Some are larger than a block of the log.
inline void putItems(sg::RocksDBStore& store, int from, int to, bool some_large) {
    for (int n = from; n < to; ++n) {
        const std::size_t size = some_large && n % 7 == 3 ? 70'000 : static_cast<std::size_t>(50 + n % 200);
        store.put(
            {"n"}, keyOf(n),
            sg::Value(std::map<std::string, std::string>{{"pad", std::string(size, static_cast<char>('a' + n % 20))}}));
    }
}

struct Opened {
    std::string error;
    std::string dropped;
    int items = 0;  // k0000 up to this number, and no other items
};

inline Opened open(const fs::path& path, const sg::RocksDBStoreOptions& options = {}) {
    Opened result;
    try {
        sg::RocksDBStore store(path.string(), {}, options);
        result.dropped = store.droppedAtOpening();
        for (const auto& item : store.search({.limit = 5'000})) {
            CHECK(item.key == keyOf(result.items));
            ++result.items;
        }
    } catch (const sg::CorruptStoreError& error) {
        result.error = error.message();
    }
    return result;
}

}  // namespace damaged
