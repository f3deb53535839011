#pragma once
#include <cstdint>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Threads that several processes append to at the same time.
namespace shared_threads {

namespace sg = stategraph;

inline std::string threadNamed(int number) { return "shared " + std::to_string(number); }

/// Appends one commit to the newest one, unless another writer was first. Returns the commit's id, or none if it was
/// not stored.
inline sg::CheckpointId tryToAppend(sg::BaseCheckpointSaver& saver, const std::string& thread_id, unsigned writer,
                                    bool sync) {
    const auto newest = saver.list({.thread_id = thread_id, .checkpoint_ns = "", .limit = 1});
    sg::CheckpointId head;
    std::int64_t step = 0;
    if (!newest.empty()) {
        head = newest[0].id;
        step = sg::readHeader({thread_id, "", head}, newest[0].bytes).step;
    }
    const auto id = sg::testing::nthId(static_cast<unsigned>(step) + 1, writer);
    const auto commit = sg::testing::makeCommit(
        {.id = id, .parent = head, .step = step + 1, .changes = {{.channel = "channel", .value = sg::Value("value")}}});
    try {
        sg::testing::putOne(saver, {thread_id}, head, commit, sync);
        return id;
    } catch (const sg::ConcurrentUpdateError&) {
        return {};
    }
}

/// Checks that a log is linear: the parent of each commit is the one before it. Adds all its ids to `ids`.
inline void checkLine(sg::BaseCheckpointSaver& saver, const std::string& thread_id, std::set<std::string>& ids) {
    sg::CheckpointId child_of;
    for (const sg::ListedCheckpoint& row : saver.list({.thread_id = thread_id})) {
        if (!child_of.empty()) CHECK(row.id == child_of);
        child_of = sg::readLinks({thread_id, "", row.id}, row.bytes).parent;
        ids.insert(thread_id + " " + row.id.toString());
    }
    CHECK(child_of.empty());
}

}  // namespace shared_threads
