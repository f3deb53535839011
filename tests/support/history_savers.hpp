#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/savers.hpp"

// Savers for the tests of history: both kinds in turn, a saver that counts, and the contents of a saver.
namespace history {

/// Runs a test with a saver in memory and again with one on disk.
template <class F>
void onBothSavers(F test) {
    savers::onEach([&](savers::Store& store) { test(store.open()); });
}
using SharedSaver = std::shared_ptr<stategraph::BaseCheckpointSaver>;

/// All contents of a saver by key, to show that an operation changed nothing.
using Bytes = std::map<std::string, std::string>;

inline std::string keyOf(const stategraph::ListedCheckpoint& row) {
    return row.thread_id + "/" + row.checkpoint_ns + "/" + row.id.toString();
}
inline Bytes bytesOf(stategraph::BaseCheckpointSaver& saver) {
    Bytes bytes;
    for (const auto& row : saver.list({.with_writes = true})) {
        bytes[keyOf(row)] = row.bytes;
        for (const auto& write : row.writes) bytes[keyOf(row) + "/" + write.path] = write.bytes;
    }
    return bytes;
}
/// The same without pending writes.
inline Bytes commitsOf(stategraph::BaseCheckpointSaver& saver) {
    Bytes bytes;
    for (const auto& row : saver.list({})) bytes[keyOf(row)] = row.bytes;
    return bytes;
}
inline std::size_t sizeOf(const Bytes& bytes) {
    std::size_t size = 0;
    for (const auto& [key, value] : bytes) size += value.size();
    return size;
}
/// Whether all of `before` still exists unchanged.
inline bool keeps(const Bytes& after, const Bytes& before) {
    for (const auto& [key, value] : before) {
        const auto found = after.find(key);
        if (found == after.end() || found->second != value) {
            MESSAGE(std::string(found == after.end() ? "gone: " : "changed: "), key);
            return false;
        }
    }
    return true;
}

/// Passes all calls on, and counts them.
class CountingSaver : public stategraph::BaseCheckpointSaver {
public:
    std::size_t puts = 0;
    std::size_t rows_put = 0;
    std::size_t lists = 0;
    std::size_t rows_listed = 0;
    std::size_t tuples = 0;

    void forget() { puts = rows_put = lists = rows_listed = tuples = 0; }

    void put(const stategraph::PutRequest& request) override {
        ++puts;
        rows_put += request.commits.size() + request.writes.size();
        inner_.put(request);
    }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        ++tuples;
        return inner_.getTuple(query);
    }
    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        ++lists;
        auto rows = inner_.list(query);
        rows_listed += rows.size();
        return rows;
    }
    void deleteThread(std::string_view thread) override { inner_.deleteThread(thread); }
    void copyThread(std::string_view from, std::string_view to) override { inner_.copyThread(from, to); }
    std::size_t prune(const stategraph::PruneRequest& request) override { return inner_.prune(request); }
    bool putIsSlow() const noexcept override { return false; }

private:
    stategraph::MemorySaver inner_;
};

}  // namespace history
