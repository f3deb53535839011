#pragma once
#include <string>
#include <utility>
#include <vector>

#include <stategraph/testing/saver_contract/support.hpp>
#include <stategraph/value.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/materialise.hpp"

// Logs that are longer than what savers read unseen, built by the test.
namespace long_logs {

namespace sg = stategraph;
namespace cp = stategraph::checkpoint;
using sg::testing::nthId;

struct Row {
    unsigned parent = 0;
    unsigned base = 0;
    std::int64_t step = 0;
    std::string bytes = {};
    std::size_t writes = 0;
};

/// The rows of a log. The first has number 1.
class Log {
public:
    explicit Log(std::string thread_id = "t") : thread_id_(std::move(thread_id)) {}
    sg::LogName name() const { return {thread_id_, ""}; }

    /// Adds a commit with a parent (0: none) and its base or, with `is_whole`, with itself as its base. It is `folds`
    /// supersteps later.
    unsigned add(unsigned parent, bool is_whole = false, unsigned folds = 1, std::size_t padding = 0) {
        const auto n = static_cast<unsigned>(rows_.size()) + 1;
        Row row{.parent = parent, .base = n, .step = 0};
        if (parent != 0) {
            if (!is_whole) row.base = of(parent).base;
            row.step = of(parent).step + folds;
        }
        std::string operations;
        sg::Encoder out(operations);
        out.map(1);
        cp::writeLoggedOp(out, "log", row.base == n ? cp::LogOp::set : cp::LogOp::append);
        std::vector<std::string> items = row.base == n && parent != 0 ? valueOf(parent) : std::vector<std::string>();
        items.push_back(std::to_string(n) + std::string(padding, 'x'));
        out.raw(sg::Value(items).bytes());
        cp::CommitFields fields{.id = nthId(n), .base = nthId(row.base), .step = row.step, .folds = folds};
        if (parent != 0) fields.parent = nthId(parent);
        fields.operations = operations;
        cp::writeCommit(fields, row.bytes);
        rows_.push_back(std::move(row));
        return n;
    }
    unsigned addLine(unsigned parent, unsigned count) {
        for (; count > 0; --count) parent = add(parent);
        return parent;
    }
    unsigned size() const { return static_cast<unsigned>(rows_.size()); }
    Row& of(unsigned n) { return rows_[n - 1]; }
    const Row& of(unsigned n) const { return rows_[n - 1]; }

    void store(sg::BaseCheckpointSaver& saver) const {
        std::vector<sg::CommitRow> commits;
        sg::CheckpointId head;
        for (unsigned n = 1; n <= size(); ++n) {
            const Row& row = of(n);
            commits.push_back(
                {nthId(n), row.parent ? nthId(row.parent) : sg::CheckpointId(), nthId(row.base), row.bytes});
            if (n < size() && of(n + 1).parent == n) continue;
            saver.put({.log = name(), .expected_head = head, .commits = commits, .writes = {}});
            head = nthId(n);
            commits.clear();
        }
        for (unsigned n = 1; n <= size(); ++n) {
            for (std::size_t i = 0; i < of(n).writes; ++i) {
                sg::testing::putWrite(saver, name(), nthId(size()), nthId(n), "pull:" + std::to_string(i),
                                      sg::testing::makeTask(nthId(n), true));
            }
        }
    }
    /// Returns all rows between a checkpoint's base and the checkpoint.
    sg::CheckpointTuple whole(unsigned n) const {
        sg::CheckpointTuple tuple{.id = nthId(n), .head = nthId(size()), .commits = {}, .writes = {}, .next = {}};
        for (unsigned i = of(n).base; i <= n; ++i) tuple.commits.push_back({nthId(i), of(i).bytes});
        return tuple;
    }
    std::size_t lengthOf(unsigned n) const {
        std::size_t length = 1;
        for (; n != of(n).base; n = of(n).parent) ++length;
        return length;
    }
    std::vector<std::string> valueOf(unsigned n) const {
        const cp::Folded folded = cp::fold(name(), whole(n));
        return sg::Value::fromCbor(cp::materialise(folded.channels.at(0).pieces)).as<std::vector<std::string>>();
    }

private:
    std::string thread_id_;
    std::vector<Row> rows_;
};

inline std::string shown(const cp::Folded& folded) {
    std::string text = folded.commit.id.toString() + " on " + folded.commit.parent.toString() + " from " +
                       folded.commit.base.toString() + ", step " + std::to_string(folded.commit.step) + ", " +
                       std::to_string(folded.replay_commits) + " commits, " + std::to_string(folded.replay_bytes) +
                       " B";
    for (const auto& channel : folded.channels) {
        text += "; " + std::string(channel.name) + " in " + std::to_string(channel.pieces.size()) + ": " +
                sg::cborToJson(cp::materialise(channel.pieces));
    }
    return text;
}

}  // namespace long_logs
