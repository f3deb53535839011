#include <stategraph/testing/records.hpp>

#include <algorithm>

#include <stategraph/detail/table.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/materialise.hpp"
#include "src/checkpoint/record.hpp"

namespace stategraph::testing {
namespace {

// CBOR sorts the keys of a map by their encoded bytes, so shorter ones are first.
std::string encodeChanges(std::vector<ChannelChange> changes) {
    std::sort(changes.begin(), changes.end(), [](const ChannelChange& a, const ChannelChange& b) {
        return detail::storedBefore(a.channel, b.channel);
    });
    std::string cbor;
    Encoder out(cbor);
    out.map(changes.size());
    for (const ChannelChange& change : changes) {
        switch (change.kind) {
            case ChannelChange::Kind::set:
                checkpoint::writeLoggedOp(out, change.channel, checkpoint::LogOp::set);
                out.raw(change.value.bytes());
                break;
            case ChannelChange::Kind::append:
                checkpoint::writeLoggedOp(out, change.channel, checkpoint::LogOp::append);
                out.array(1);
                out.raw(change.value.bytes());
                break;
            case ChannelChange::Kind::clear:
                checkpoint::writeLoggedOp(out, change.channel, checkpoint::LogOp::clear);
                break;
        }
    }
    return cbor;
}

}  // namespace

std::string makeCommitRecord(const CommitRecordFields& fields) {
    const std::string operations = encodeChanges(fields.changes);
    checkpoint::CommitFields commit{.id = fields.id,
                                    .parent = fields.parent,
                                    .base = fields.base,
                                    .step = fields.step,
                                    .source = fields.source,
                                    .next = fields.next,
                                    .operations = operations};
    for (const VisitLink& visit : fields.visits) commit.visits.push_back({visit.log, visit.id});
    commit.around = fields.around;
    if (!fields.root.empty()) commit.parents.push_back({"", fields.root});
    if (!fields.metadata.isNull()) commit.metadata = fields.metadata.bytes();
    std::string bytes;
    checkpoint::writeCommit(commit, bytes);
    return bytes;
}

std::string makeTaskRecord(const TaskRecordFields& fields) {
    const Value question("question");
    const Value answer("answer");
    std::string no_writes;
    Encoder(no_writes).array(0);
    checkpoint::TaskFields task{.node = fields.node};
    if (fields.state == TaskState::finished) task.writes = no_writes;
    if (fields.state == TaskState::failed) task.error = "error";
    if (fields.state == TaskState::waiting || fields.state == TaskState::answered) {
        task.interrupts.push_back({TaskId(1, 2), 0, question.bytes()});
    }
    if (fields.state == TaskState::answered) task.answers.push_back({TaskId(1, 2), 0, answer.bytes()});
    std::string bytes;
    checkpoint::writeTask(fields.id, task, bytes);
    return bytes;
}

std::map<std::string, Value> readChannels(const LogName& log, const CheckpointTuple& tuple) {
    const checkpoint::Folded folded = checkpoint::fold(log, tuple);
    std::map<std::string, Value> channels;
    for (const auto& channel : folded.channels) {
        channels.emplace(channel.name, Value::fromCbor(checkpoint::materialise(channel.pieces)));
    }
    return channels;
}

}  // namespace stategraph::testing
