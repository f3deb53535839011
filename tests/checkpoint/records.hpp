#pragma once
#include "src/checkpoint/record.hpp"

#include <doctest/doctest.h>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

// Records with every field, and readers of them.
namespace stategraph::testing::records {

using namespace checkpoint;

inline const CheckpointId own = nthId(5);
inline const RowKey commit_key{"t", "ns", own};
inline const RowKey task_key{"t", "ns", own, "path"};

inline std::string textItem(std::string_view text) {
    std::string cbor;
    Encoder(cbor).text(text);
    return cbor;
}

inline const std::string value = textItem("a value");

inline std::string writesItem() {
    std::string cbor;
    Encoder encoder(cbor);
    encoder.array(2);
    writeLoggedWrite(encoder, "foo", WriteKind::add);
    encoder.raw(value);
    writeLoggedWrite(encoder, "bar", WriteKind::clear);
    return cbor;
}

inline std::string operationsItem() {
    std::string cbor;
    Encoder encoder(cbor);
    encoder.map(2);
    writeLoggedOp(encoder, "bar", LogOp::clear);
    writeLoggedOp(encoder, "foo", LogOp::append);
    encoder.array(1);
    encoder.raw(value);
    return cbor;
}

inline const std::string writes_item = writesItem();
inline const std::string operations_item = operationsItem();
inline const std::string metadata_item = [] {
    std::string cbor;
    Encoder encoder(cbor);
    encoder.map(1);
    encoder.text("who");
    encoder.text("me");
    return cbor;
}();

inline CommitFields fullCommit() {
    return {.id = own,
            .parent = CheckpointId(nthId(3).high(), 7),
            .base = nthId(2),
            .step = -1,
            .source = Source::fork,
            .folds = 12,
            .took = LoggedTook{.superstep_us = 1234, .commit_us = 56},
            .attempts = 3,
            .ran = {Ran::Kind::one, "node"},
            .next = {"a", "b"},
            .edges = std::vector<std::string_view>{"a"},
            .joins = {{"a+b", {"a"}}, {"c+d", {}}},
            .deferred = {{"d", Deferral::waiting}, {"join e", Deferral::released}},
            .sends = {{"worker", value}, {"worker", value}},
            .parents = {{"", nthId(4)}, {"child", nthId(1)}},
            .graph = 0xFFFF'FFFF'FFFF'FFFFULL,
            .schema = 0,
            .metadata = metadata_item,
            .input = writes_item,
            .writes = writes_item,
            .operations = operations_item};
}

inline TaskFields fullTask() {
    return {.node = "worker",
            .to = {"x", "y"},
            .sends = {{"worker", value}},
            .error = "it failed",
            .writes = writes_item,
            .took = LoggedTaskTime{.start_us = -7, .took_us = 89},
            .attempts = 4,
            .answers = {{TaskId(1, 2), 0, value}},
            .failure = LoggedFailure{3, "the node failed"},
            .interrupts = {{TaskId(1, 2), 0, value}, {TaskId(~0ULL, ~0ULL), 3, value}}};
}

inline std::string record(const CommitFields& commit) {
    std::string bytes;
    writeCommit(commit, bytes);
    return bytes;
}
inline std::string record(const TaskFields& task) {
    std::string bytes;
    writeTask(own, task, bytes);
    return bytes;
}

inline void readAll(std::string_view bytes, bool is_task) {
    if (is_task) {
        readTask(task_key, bytes);
        hasOpenInterrupt(task_key, bytes);
    } else {
        readHeader(commit_key, bytes);
        const CommitFields commit = readCommit(commit_key, bytes);
        readOperations(commit.operations);
    }
}

// Returns whether reading throws CorruptCheckpointError that names the row.
inline bool isCorrupt(const std::string& bytes, bool is_task) {
    try {
        readAll(bytes, is_task);
    } catch (const CorruptCheckpointError& error) {
        return error.message().find(own.toString()) != std::string::npos;
    }
    return false;
}

}  // namespace stategraph::testing::records
