#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/ids.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/testing/records.hpp>

// Helpers of the contract's cases.
namespace stategraph::testing {

template <typename Factory>
concept CanReopen = requires(Factory& factory) {
    { factory.reopen() } -> std::convertible_to<std::unique_ptr<BaseCheckpointSaver>>;
};

/// The n-th id of a log, n milliseconds after a fixed time. Ids of another writer at the same time are different.
inline CheckpointId nthId(unsigned n, unsigned writer = 0) {
    return {((1'700'000'000'000ULL + n) << 16U) | 0x7000U, 0x8000'0000'0000'0042ULL + writer};
}

/// A commit that owns its bytes.
struct TestCommit {
    CheckpointId id;
    CheckpointId parent;
    CheckpointId base;
    std::string bytes;
    CommitRow row() const { return {id, parent, base, bytes}; }
};

inline TestCommit makeCommit(const CommitRecordFields& fields) {
    return {fields.id, fields.parent, fields.base.empty() ? fields.id : fields.base, makeCommitRecord(fields)};
}
/// A commit with one channel, "channel", that holds `text`. Base 0: itself. Parent 0: none.
inline TestCommit makeCommit(unsigned n, unsigned parent, unsigned base = 0, std::string_view text = "value") {
    return makeCommit({.id = nthId(n),
                       .parent = parent ? nthId(parent) : CheckpointId(),
                       .base = base ? nthId(base) : CheckpointId(),
                       .step = n,
                       .changes = {{.channel = "channel", .value = Value(text)}}});
}

/// The record of a task that finished, or that waits at an interrupt.
inline std::string makeTask(CheckpointId id, bool waits) {
    return makeTaskRecord({.id = id, .state = waits ? TaskState::waiting : TaskState::finished});
}

inline void putOne(BaseCheckpointSaver& saver, const LogName& log, CheckpointId head, const TestCommit& commit,
                   bool sync = false) {
    const CommitRow row = commit.row();
    saver.put({.log = log, .expected_head = head, .commits = {&row, 1}, .writes = {}, .sync = sync});
}

inline void putWrite(BaseCheckpointSaver& saver, const LogName& log, CheckpointId head, CheckpointId id,
                     std::string_view path, std::string_view bytes) {
    const WriteRow row{id, path, bytes};
    saver.putWrites(log, head, {&row, 1});
}

/// Puts a line of commits 1..count, each with a full snapshot, or all based on the first.
inline void putLine(BaseCheckpointSaver& saver, const LogName& log, unsigned count, bool based_on_first = false) {
    for (unsigned n = 1; n <= count; ++n) {
        putOne(saver, log, n > 1 ? nthId(n - 1) : CheckpointId(), makeCommit(n, n - 1, based_on_first ? 1 : 0));
    }
}

inline std::vector<CheckpointId> idsOf(const std::vector<StoredCommit>& commits) {
    std::vector<CheckpointId> ids;
    for (const auto& commit : commits) ids.push_back(commit.id);
    return ids;
}
inline std::vector<CheckpointId> idsOf(const std::vector<ListedCheckpoint>& commits) {
    std::vector<CheckpointId> ids;
    for (const auto& commit : commits) ids.push_back(commit.id);
    return ids;
}
inline std::vector<CheckpointId> nthIds(std::initializer_list<unsigned> numbers) {
    std::vector<CheckpointId> ids;
    for (const unsigned n : numbers) ids.push_back(nthId(n));
    return ids;
}
inline std::vector<CheckpointId> listIds(BaseCheckpointSaver& saver, const LogName& log) {
    return idsOf(
        saver.list({.thread_id = std::string(log.thread_id), .checkpoint_ns = std::string(log.checkpoint_ns)}));
}
inline CheckpointId headOf(BaseCheckpointSaver& saver, const LogName& log) {
    const auto tuple = saver.getTuple({.log = log});
    return tuple ? tuple->head : CheckpointId();
}
/// The pending writes of the n-th checkpoint; none if it does not exist.
inline std::vector<StoredWrite> writesOf(BaseCheckpointSaver& saver, const LogName& log, unsigned n) {
    const auto tuple = saver.getTuple({.log = log, .checkpoint_id = nthId(n)});
    return tuple ? tuple->writes : std::vector<StoredWrite>();
}

/// Names that an ambiguous key grammar would confuse.
inline std::vector<std::string> oddNames() {
    using namespace std::string_literals;
    return {"a"s,
            "ab"s,
            "a|b"s,
            "a|"s,
            "|"s,
            "b"s,
            "a\0"s,
            "a\0b"s,
            "\0"s,
            "\0\0"s,
            "\xFF"s,
            "\xFF\xFF"s,
            "\x01"s,
            "\x01\x61"s,
            "a/b:c"s,
            "ä"s,
            std::string(119, 'a'),
            std::string(118, 'a'),
            std::string(127, '\xFF'),
            std::string(128, 'x'),
            std::string(300, 'x')};
}

}  // namespace stategraph::testing
