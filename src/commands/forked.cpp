#include "src/commands/forked.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <stategraph/detail/table.hpp>
#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/status.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/paths.hpp"
#include "src/checkpoint/thread_summary.hpp"
#include "src/commands/store.hpp"
#include "src/commit/ids.hpp"
#include "src/commit/metadata.hpp"

// Stores, without a run, the first commit of a run that resumes from an old checkpoint.
namespace stategraph::commands {
namespace {

using checkpoint::CommitFields;

// The rule is the same as for a run's commits (src/commit/log_writer.cpp): the whole state is written if reading it
// back costs more than this many times as much, and more than about a page.
constexpr std::size_t replay_factor = 3;
constexpr std::size_t replay_bytes_min = 4096;
constexpr std::size_t row_cost_bytes = 48;
constexpr std::size_t visit_bytes = 19;

bool isExpensive(const checkpoint::Folded& from) {
    const std::size_t replay = from.replay_bytes + from.replay_commits * row_cost_bytes;
    if (replay <= replay_bytes_min) return false;
    std::size_t state = from.commit.input ? from.commit.input->size() : 0;
    for (const auto& channel : from.channels) {
        const std::size_t name = detail::headSize(channel.name.size()) + channel.name.size() + 3;
        for (const auto& piece : channel.pieces) state += name + piece.value.size();
    }
    for (const auto& visit : from.visits) state += visit.log.size() + visit_bytes;
    return replay > replay_factor * state;
}

// Returns the record of the checkpoint with its whole state if reading it from its base has become expensive, otherwise
// an empty text.
std::string wholeIfDue(const LogName& log, const checkpoint::Folded& from) {
    if (!isExpensive(from)) return {};
    try {
        return checkpoint::wholeCommit(log, from.tuple);
    } catch (const CorruptCheckpointError&) {
        return {};  // a list whose first value only the program knows
    }
}

// Returns the fields of the copied commit that say what is due. All others equal those of its parent, which is the
// commit that is copied.
CommitFields follow(const checkpoint::Folded& from) {
    CommitFields copy = from.commit;
    copy.took.reset();  // no superstep made it
    copy.attempts = 1;
    copy.ran = {};  // repeated, as a run's first commit does
    if (from.ran.kind == checkpoint::FoldedRan::Kind::several) copy.ran = {checkpoint::Ran::Kind::several, {}};
    if (from.ran.kind == checkpoint::FoldedRan::Kind::one) copy.ran = {checkpoint::Ran::Kind::one, from.ran.node};
    copy.joins.clear();
    copy.deferred.clear();
    copy.visits.clear();
    copy.besides.has_all_visits = false;
    copy.graph.reset();
    copy.schema.reset();
    copy.operations = {};
    copy.besides.names_input = false;
    return copy;
}

// Returns the operations of a commit, in which channels are set to these values.
std::string withValues(std::string_view operations, const ChannelValues& values) {
    struct Entry {
        std::string_view channel;
        std::string_view operation;  // as it is stored; empty: set to a value
    };
    std::vector<Entry> entries;
    for (const auto& [channel, value] : values) entries.push_back({channel, {}});
    if (!operations.empty()) {
        Decoder in(operations);
        for (std::size_t count = in.map(); count > 0; --count) {
            const std::string_view channel = in.text();
            const std::string_view operation = in.raw();
            if (!values.contains(std::string(channel))) entries.push_back({channel, operation});
        }
    }
    std::ranges::sort(entries, detail::storedBefore, &Entry::channel);
    std::string cbor;
    Encoder out(cbor);
    out.map(entries.size());
    for (const Entry& entry : entries) {
        if (entry.operation.empty()) {
            checkpoint::writeLoggedOp(out, entry.channel, checkpoint::LogOp::set);
            out.raw(values.at(std::string(entry.channel)));
        } else {
            out.text(entry.channel);
            out.raw(entry.operation);
        }
    }
    return cbor;
}

struct Forked {
    std::string commit;
    std::string command;  // what a Command wrote to the superstep that waits there; empty if there was none
    std::string run;      // the record that an edit created it; empty if nothing is due
    std::string summary;  // of its metadata: nothing asks there yet
    Status status = Status::done;
    CheckpointId base;
};

Forked makeFork(const LogName& log, const checkpoint::Folded& from, CheckpointId id, const Metadata& added,
                const ChannelValues& values) {
    const RowKey key{log.thread_id, log.checkpoint_ns, from.commit.id};
    if (from.commit.besides.says_more)
        checkpoint::corrupt(key, "it is of a later version that says more than this one can copy; use that version");
    const std::string whole = wholeIfDue(log, from);
    const std::string metadata = engine::addMetadata(from.commit.metadata, added);
    CommitFields copy = whole.empty() ? follow(from) : checkpoint::readCommit(key, whole);
    copy.id = id;
    copy.parent = from.commit.id;
    copy.base = whole.empty() ? from.commit.base : id;
    copy.step = from.commit.step + 1;
    copy.source = Source::fork;
    copy.around.reset();
    copy.folds = 1;
    copy.writes.reset();
    copy.metadata = metadata;
    if (!values.empty()) copy.failure.reset();
    std::string operations;
    if (!values.empty()) copy.operations = operations = withValues(copy.operations, values);

    Forked forked;
    forked.base = copy.base;
    forked.summary = checkpoint::writeSummary(metadata, {});
    checkpoint::writeCommit(copy, forked.commit);
    const checkpoint::Records records = checkpoint::readRecords(log, from.commit.id, from.tuple.writes);
    if (const auto* command = checkpoint::findRecord(records, checkpoint::command_path))
        checkpoint::writeTask(id, *command, forked.command);
    if (!checkpoint::dueTasks(copy, records, true).empty()) {
        checkpoint::TaskFields edited;
        edited.node = toString(Status::edited);
        checkpoint::writeTask(id, edited, forked.run);
        forked.status = Status::edited;
    } else if (copy.failure) {
        forked.status = Status::failed;
    }
    return forked;
}

}  // namespace

checkpoint::Folded readForked(BaseCheckpointSaver& saver, const LogName& log, CheckpointId wanted,
                              const char* command) {
    auto tuple = saver.getTuple({.log = log, .checkpoint_id = wanted});
    if (tuple) return checkpoint::fold(log, std::move(*tuple));
    if (wanted) {
        throw InvalidArgumentError("there is no checkpoint " + wanted.toString() + " to " + command +
                                   " in the thread; it may have been pruned. List the thread's checkpoints");
    }
    throw InvalidArgumentError(std::string("there is nothing to ") + command +
                               ": the thread has no checkpoint; check its name");
}

CheckpointId forkId(const checkpoint::Folded& from, const ForkOptions& options) {
    IdSource& source = options.ids ? *options.ids : IdSource::system();
    engine::IdSequence ids(source, source.uniqueBits());
    ids.observe(from.tuple.head);
    return ids.next();
}

void putFork(BaseCheckpointSaver& saver, const LogName& log, const checkpoint::Folded& from, CheckpointId id,
             const ForkOptions& options, const ChannelValues& values) {
    const Forked forked = makeFork(log, from, id, options.metadata, values);
    const CommitRow commit{.id = id, .parent = from.commit.id, .base = forked.base, .bytes = forked.commit};
    std::vector<WriteRow> writes;
    if (!forked.command.empty()) writes.push_back({id, checkpoint::command_path, forked.command});
    if (!forked.run.empty()) writes.push_back({id, checkpoint::run_path, forked.run});
    store(saver, {.log = log,
                  .expected_head = from.tuple.head,
                  .commits = {&commit, 1},
                  .writes = writes,
                  .sync = options.durability == Durability::sync,
                  .outlook = {forked.status, {}},
                  .summary = forked.summary});
}

}  // namespace stategraph::commands
