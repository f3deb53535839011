#pragma once
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/store.hpp>

#include "tests/support/until.hpp"

// Items that several processes, each with its own store, put and remove at once.
namespace shared_items {

inline stategraph::StoreOptions options() {
    stategraph::StoreOptions chosen;
    chosen.index = stategraph::IndexConfig{.dims = 2, .embed = [](std::span<const std::string> texts) {
                                               std::vector<std::vector<float>> vectors;
                                               for (const std::string& text : texts)
                                                   vectors.push_back({static_cast<float>(text.size()), 1.0F});
                                               return vectors;
                                           }};
    return chosen;
}

/// A change to an item whose name other processes use too: with a short lifetime, a long one or none; with or without
/// vectors; or a removal.
inline stategraph::PutOp change(std::mt19937& random) {
    using namespace std::chrono_literals;
    stategraph::PutOp op{{"shared"}, std::to_string(random() % 6), {}, {}};
    if (random() % 6 == 0) return op;
    op.value = stategraph::Value(std::map<std::string, std::string>{{"text", std::string(random() % 40, 'x')}});
    if (random() % 3 == 0) op.options.index = std::vector<std::string>();
    const unsigned life = random() % 3;
    if (life < 2) op.options.ttl = life == 0 ? 1ms : 3'600'000ms;
    return op;
}

/// Throws if a search finds an item that cannot be read or that has the vectors of another item.
inline void mix(stategraph::BaseStore& store, unsigned seed, int rounds) {
    std::mt19937 random(seed);
    for (int round = 0; round < rounds; ++round) {
        std::vector<stategraph::StoreOp> ops;
        for (unsigned count = 1 + random() % 3; count > 0; --count) ops.emplace_back(change(random));
        store.batch(ops);
        if (round % 4 == 0) {
            const stategraph::StoreOp search = stategraph::SearchQuery{.query = "xxx", .refresh_ttl = true};
            const auto found = store.batch(std::span(&search, 1));
            if (!found[0].damaged.empty()) throw std::runtime_error(found[0].damaged[0].why);
        }
        if (round % 9 == 0) store.sweep();
    }
}

/// Removes all items, so that any remaining row belongs to no item.
inline void removeAll(stategraph::BaseStore& store) {
    for (const auto& item : store.search({.limit = 1000, .refresh_ttl = false})) store.remove(item.ns, item.key);
    store.sweep();
    CHECK(store.search({}).empty());
}

/// Puts pairs endlessly, and notes each pair when it is stored.
inline void putPairs(stategraph::BaseStore& store, std::ofstream& notes) {
    for (int n = 0;; ++n) {
        const std::string key = std::to_string(n);
        const stategraph::Value value = std::map<std::string, int>{{"n", n}};
        store.batch({stategraph::PutOp{{"first"}, key, value, {}}, stategraph::PutOp{{"second"}, key, value, {}}});
        notes << n << '\n' << std::flush;
    }
}

/// Checks that all pairs that were noted exist, and that each pair is complete. `file` begins with a line "ready".
inline void checkPairs(stategraph::BaseStore& store, const std::string& file) {
    const auto keysOf = [&](const char* ns) {
        std::set<std::string> keys;
        for (std::size_t offset = 0;;) {
            const auto page = store.search({.namespace_prefix = {ns}, .limit = 1000, .offset = offset});
            for (const auto& item : page) keys.insert(item.key);
            if (page.size() < 1000) return keys;
            offset += page.size();
        }
    };
    // A server may store one more pair of a killed process between the two searches; half a pair stays one.
    std::set<std::string> first;
    CHECK(patience::eventually([&] {
        first = keysOf("first");
        return first == keysOf("second");
    }));
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    std::size_t missing = 0;
    while (std::getline(in, line) && !in.eof()) missing += first.count(line) == 0;
    CHECK(missing == 0);
}

}  // namespace shared_items
