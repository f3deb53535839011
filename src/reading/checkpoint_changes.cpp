#include <stategraph/checkpoint_changes.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <stategraph/read_checkpoint.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "src/reading/changes.hpp"
#include "src/reading/log_page.hpp"

namespace stategraph {
namespace reading {
namespace {

Change changeOf(checkpoint::LogOp op) noexcept {
    switch (op) {
        case checkpoint::LogOp::set:
            return Change::set;
        case checkpoint::LogOp::append:
            return Change::append;
        case checkpoint::LogOp::put:
            return Change::put;
        case checkpoint::LogOp::edit:
            return Change::edit;
        case checkpoint::LogOp::clear:
            break;
    }
    return Change::clear;
}

}  // namespace

void readWithInput(const RowKey& key, std::string_view bytes, std::optional<std::string_view> parent_input,
                   checkpoint::CommitReader& commit) {
    commit.read(key, bytes);
    if (!commit.fields.besides.names_input) return;
    try {
        checkpoint::takeInputValues(commit.operations, parent_input);
    } catch (const WrongTypeError& error) {
        checkpoint::corrupt(key, error.message());
    }
}

ChannelChange changeOf(const checkpoint::LoggedOp& operation) {
    ChannelChange change{.channel = std::string(operation.channel), .change = changeOf(operation.op), .value = {}};
    if (change.change != Change::clear) change.value = Value::fromCbor(std::string(operation.value));
    return change;
}

}  // namespace reading

namespace {

const StoredCommit* find(const CheckpointTuple& tuple, CheckpointId id) noexcept {
    for (const StoredCommit& commit : tuple.commits) {
        if (commit.id == id) return &commit;
    }
    return nullptr;
}

std::map<std::string, Value> valuesAt(BaseCheckpointSaver& saver, const Config& config) {
    const auto read = readCheckpoint(saver, config);
    if (!read) {
        throw InvalidArgumentError("readDifference: thread '" + config.thread_id.toString() +
                                       (config.checkpoint_id ? "' has no checkpoint " + config.checkpoint_id.toString()
                                                             : "' has no checkpoints"),
                                   {.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns});
    }
    return read->values_as_cbor.as<std::map<std::string, Value>>();
}

}  // namespace

const char* toString(Change change) noexcept {
    switch (change) {
        case Change::set:
            return "set";
        case Change::append:
            return "append";
        case Change::put:
            return "put";
        case Change::edit:
            return "edit";
        case Change::clear:
            return "clear";
    }
    return "?";
}

std::optional<CheckpointChanges> readChanges(BaseCheckpointSaver& saver, const Config& config) {
    reading::requireThread(config, "readChanges");
    return reading::named(config, [&]() -> std::optional<CheckpointChanges> {
        const LogName log = reading::logOf(config);
        const auto tuple = saver.getTuple({.log = log, .checkpoint_id = config.checkpoint_id});
        if (!tuple) return {};
        const StoredCommit* const own = find(*tuple, tuple->id);
        if (own == nullptr)
            throw CorruptCheckpointError("the saver gave checkpoint " + tuple->id.toString() +
                                         " without its own commit");
        const RowKey key{log.thread_id, log.checkpoint_ns, own->id};
        const auto header = checkpoint::readCommit(key, own->bytes, true);
        checkpoint::CommitFields above;
        if (const StoredCommit* const parent = find(*tuple, header.parent))
            above = checkpoint::readCommit({log.thread_id, log.checkpoint_ns, parent->id}, parent->bytes, true);
        checkpoint::CommitReader commit;
        reading::readWithInput(key, own->bytes, above.input, commit);
        CheckpointChanges changes{.config = config,
                                  .parent = commit.fields.parent,
                                  .step = commit.fields.step,
                                  .source = commit.fields.source,
                                  .changes = {},
                                  .is_whole = commit.fields.base == own->id,
                                  .supersteps = commit.fields.folds,
                                  .bytes = own->bytes.size()};
        changes.config.checkpoint_id = own->id;
        for (const auto& operation : commit.operations) changes.changes.push_back(reading::changeOf(operation));
        std::ranges::sort(changes.changes, {}, &ChannelChange::channel);
        return changes;
    });
}

std::vector<ChannelDifference> readDifference(BaseCheckpointSaver& saver, const Config& before, const Config& after) {
    const auto old_values = valuesAt(saver, before);
    const auto new_values = valuesAt(saver, after);
    std::vector<ChannelDifference> differences;
    const auto valueIn = [](const std::map<std::string, Value>& values, const std::string& name) {
        const auto found = values.find(name);
        return found == values.end() ? std::optional<Value>() : std::optional(found->second);
    };
    std::map<std::string, Value> names = old_values;
    names.insert(new_values.begin(), new_values.end());
    for (const auto& [name, value] : names) {
        ChannelDifference difference{name, valueIn(old_values, name), valueIn(new_values, name)};
        if (difference.before != difference.after) differences.push_back(std::move(difference));
    }
    return differences;
}

}  // namespace stategraph
