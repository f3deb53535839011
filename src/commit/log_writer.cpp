#include "src/commit/log_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <stategraph/detail/table.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/materialise.hpp"
#include "src/checkpoint/repeated_values.hpp"
#include "src/commit/store_description.hpp"
#include "src/commit/task_record.hpp"

namespace stategraph::engine {
namespace {

using checkpoint::LogOp;
using detail::ChannelIndex;
using detail::ChannelSpec;

// A full snapshot is written when reading costs more than this many times the state, and more than about a page. Then
// at most 1/3 of what is written is snapshots, and reading touches at most about 4 times the state.
constexpr std::size_t replay_factor = 3;
constexpr std::size_t replay_bytes_min = 4096;
constexpr std::size_t kept_fields_max = 256;
// Limits the room that is reserved because the record of another run had this size.
constexpr std::size_t expected_bytes_max = std::size_t{64} << 20U;
// The cost of reading one more commit, expressed in bytes.
constexpr std::size_t row_cost_bytes = 48;
// The number of bytes that a commit with the whole state needs for one log of a subgraph, without its name.
constexpr std::size_t visit_bytes = 19;
// For commits with more operations, the ends of these are found by decoding.
constexpr std::size_t known_entries_max = 16;

// Returns the fixed part of a channel's entry in a commit's operations, except for a clear.
std::size_t entrySize(std::string_view channel, std::size_t value) noexcept {
    return detail::headSize(channel.size()) + channel.size() + 3 + value;
}

}  // namespace

void LogWriter::start(const LogSettings& settings) {
    settings_ = settings;
    head_ = {};
    stored_ = {};
    snapshot_forced_ = false;
    head_has_metadata_ = false;
    schedule_.start();
    record_.text.clear();
    record_.size = 0;
    folds_ = 0;
    told_.store(Status::in_flight, std::memory_order_relaxed);
    has_lost_writes_.store(false, std::memory_order_relaxed);
}

bool LogWriter::awaitPuts() {
    if (!hasSaver() || !settings_.saver->answersLater()) return false;
    settings_.is_awaited = true;
    makeQueue();
    return true;
}

void LogWriter::makeQueue() {
    if (!queue_) queue_.emplace(settings_.saver->commitsAhead(), settings_.watcher);
}

void LogWriter::end() noexcept {
    if (settings_.saver == nullptr) return;
    queue_.reset();
    settings_.saver = nullptr;
    settings_.is_awaited = false;
    unknown_.clear();
    if (keeps_rows_.load(std::memory_order_relaxed)) {
        const detail::LockGuard lock(mutex_);
        kept_rows_.clear();
    }
    with_commit_.rows.clear();
    with_commit_.compared.clear();
    with_commit_.outlook.reset();
    changed_.clear();
    operations_.clear();
    if (fields_.next.capacity() + fields_.sends.capacity() > kept_fields_max) fields_ = {};
    for (std::string* buffer : {&operations_.entries, &input_, &named_writes_, &record_.text}) {
        if (buffer->capacity() > kept_bytes_max) std::string().swap(*buffer);
    }
    schedule_.freeAbove(kept_bytes_max);
}

void LogWriter::open(CheckpointId head, const checkpoint::Folded* from, const detail::Schema& schema) {
    head_ = head;
    stored_ = {};
    account_.base = {};
    account_.replay_bytes = 0;
    account_.state_bytes = 0;
    input_.clear();
    fingerprints_logged_ = false;
    snapshot_forced_ = false;
    unknown_.clear();
    account_.channel_bytes.assign(schema.size(), 0);
    account_.channel_set.assign(schema.size(), 0);
    head_has_metadata_ = false;
    if (from == nullptr) return;
    head_has_metadata_ = from->commit.id == head && from->commit.metadata == settings_.metadata;
    stored_ = from->commit.id;
    account_.base = from->commit.base;
    input_ = from->commit.input.value_or("");
    account_.replay_bytes = from->replay_bytes + from->replay_commits * row_cost_bytes;
    for (const auto& stored : from->channels) {
        if (const ChannelSpec* channel = schema.find(stored.name)) {
            std::size_t bytes = 0;
            for (const auto& piece : stored.pieces) bytes += entrySize(stored.name, piece.value.size());
            account_.state_bytes += bytes;
            account_.channel_bytes[channel->index] += bytes;
            noteOperation(channel->index, stored.pieces.front().op);
            if (stored.pieces.back().op == LogOp::edit) noteOperation(channel->index, LogOp::edit);
            snapshot_forced_ = snapshot_forced_ || channel->name != stored.name;  // it has a former name
        } else {
            unknown_.push_back({std::string(stored.name), encodeUnknown(stored)});
            account_.state_bytes += unknown_.back().entry.size();
        }
    }
    for (const auto& visit : from->visits) account_.state_bytes += visit.log.size() + visit_bytes;
    fingerprints_logged_ = from->graph == settings_.graph && from->schema == settings_.schema;
}

std::optional<LogWriter::Account> LogWriter::account() const {
    if (stored_.empty() || stored_ != head_ || snapshot_forced_ || !unknown_.empty() || !input_.empty() || folds_ > 0)
        return {};
    return account_;
}

void LogWriter::open(const checkpoint::CommitFields& from, Account account) {
    head_ = stored_ = from.id;
    head_has_metadata_ = from.metadata == settings_.metadata;
    account_ = std::move(account);
    input_.clear();
    fingerprints_logged_ = true;  // by this program
    snapshot_forced_ = false;
    unknown_.clear();
}

void LogWriter::beginAnew() noexcept {
    stored_ = {};
    account_.base = {};
    fingerprints_logged_ = false;
    snapshot_forced_ = true;
}

bool LogWriter::snapshotIsDue() const noexcept {
    if (!hasSaver()) return false;
    if (stored_.empty()) return snapshot_forced_;
    // Input that START has yet to take is about to become state.
    return snapshot_forced_ || (account_.replay_bytes > replay_bytes_min &&
                                account_.replay_bytes > replay_factor * (account_.state_bytes + input_.size()));
}

void LogWriter::noteChanges(const State& state, const WriteSet& writes, bool is_step) {
    if (!hasSaver() || settings_.durability != Durability::exit) return;
    const detail::Schema& schema = state.schema();
    changed_.resize(schema.size());
    for (const auto& group : writes.groups()) {
        const ChannelSpec& channel = schema.channel(group.channel);
        const auto ops = writes.ops(group);
        const bool appends =
            channel.reducer == "append" && channel.behaviour->length != nullptr &&
            std::all_of(ops.begin(), ops.end(), [](const detail::Op* op) {
                return op->kind == checkpoint::WriteKind::add || op->kind == checkpoint::WriteKind::write;
            });
        Changed& changed = changed_[group.channel];
        if (!changed.changed) {
            changed = {true, appends, appends ? channel.behaviour->length(state.value(channel)) : 0};
        } else {
            changed.only_appended = changed.only_appended && appends;
        }
    }
    if (!is_step) return;
    for (const ChannelIndex index : schema.transient()) {
        if (state.has(index)) changed_[index].changed = true;
    }
}

// The operations have been logged already, or are few.
void LogWriter::encodeLogged(const CommitStep& step, bool snapshot, std::string& out) {
    if (snapshot || !logsOperations()) {
        operations_.clear();
        logState(*step.state, snapshot);
        if (snapshot) addUnknownChannels(operations_);
    }
    const std::string_view writes = nameWrites(step, snapshot);
    fields_.writes = writes.empty() ? std::nullopt : std::optional(writes);
    fields_.besides.names_input =
        !snapshot && !stored_.empty() && checkpoint::nameInputValues(operations_.entries, input_);
    const std::size_t start = openCommit(fields_, operations_.count, out);
    out += operations_.entries;
    closeCommit(fields_, start, out);
}

// The state may be large, so it is encoded where it belongs, after the header.
void LogWriter::encodeInPlace(const State& state, bool snapshot, std::string& out) {
    fields_.writes = std::nullopt;
    fields_.besides.names_input = false;
    const Extent extent = extentOf(state, snapshot);
    const std::size_t start = openCommit(fields_, extent.channels, out);
    operations_.clear();
    // Growing would copy a large state once more, while room that stays empty costs no memory.
    out.reserve(out.size() + std::max(extent.bytes, std::min(record_.whole_size, expected_bytes_max)));
    operations_.entries.swap(out);
    try {
        logState(state, snapshot);
    } catch (...) {
        operations_.entries.swap(out);
        throw;
    }
    operations_.entries.swap(out);
    closeCommit(fields_, start, out);
    record_.whole_size = out.size();
}

void LogWriter::logState(const State& state, bool snapshot) {
    if (snapshot) {
        logEverything(state, operations_);
    } else {
        logChanges(state);
    }
    changed_.assign(state.schema().size(), {});
}

// Returns how many channels `logState` is going to write, and about how many bytes.
LogWriter::Extent LogWriter::extentOf(const State& state, bool snapshot) const {
    Extent extent;
    for (const ChannelSpec& channel : state.schema().channels()) {
        if (!isStored(channel.kind)) continue;
        const Changed changed = channel.index < changed_.size() ? changed_[channel.index] : Changed();
        if (snapshot ? !state.has(channel.index) : !changed.changed) continue;
        ++extent.channels;
        if (snapshot || !changed.only_appended) extent.bytes += account_.channel_bytes[channel.index];
    }
    return extent;
}

// With exit durability: logs the new values of the channels that changed.
void LogWriter::logChanges(const State& state) {
    const detail::Schema& schema = state.schema();
    for (const ChannelIndex index : schema.encodedOrder()) {
        if (index >= changed_.size() || !changed_[index].changed) continue;
        const ChannelSpec& channel = schema.channel(index);
        if (!isStored(channel.kind)) continue;
        const Changed& changed = changed_[index];
        const std::size_t start = operations_.entries.size();
        Encoder encoder(operations_.entries);
        if (!state.has(index)) {
            writeLoggedOp(encoder, channel.name, LogOp::clear);
        } else if (changed.only_appended) {
            writeLoggedOp(encoder, channel.name, LogOp::append);
            channel.behaviour->encodeTail(channel, state.value(channel), changed.length_before, encoder);
        } else {
            writeLoggedOp(encoder, channel.name, LogOp::set);
            channel.behaviour->encode(channel, state.value(channel), encoder);
        }
        operations_.close(channel, start, encoder.shallowBytes());
    }
}

// Returns the writes of a commit without the values that its operations contain.
std::string_view LogWriter::nameWrites(const CommitStep& step, bool snapshot) {
    const std::string_view writes = step.writes;
    if (writes.size() <= checkpoint::repeated_bytes_min) return writes;
    checkpoint::PartSizes sizes{.writes = step.write_sizes, .entries = {}};
    std::array<std::uint32_t, known_entries_max> entries;
    // A snapshot may have entries of channels that the program does not know.
    if (!snapshot && operations_.sizes.size() <= entries.size()) {
        const auto end = std::ranges::transform(operations_.sizes, entries.begin(), &OperationLog::Size::bytes).out;
        sizes.entries = {entries.begin(), end};
    }
    return checkpoint::nameLoggedValues(writes, operations_.entries, sizes, named_writes_) ? named_writes_ : writes;
}

// Returns the channel's entry in a commit that holds the whole state.
std::string LogWriter::encodeUnknown(const checkpoint::FoldedChannel& channel) const {
    std::string entry;
    Encoder out(entry);
    try {
        checkpoint::writeWhole(channel.name, channel.pieces, out);
        return entry;
    } catch (const WrongTypeError&) {
        entry.clear();  // no entry could say that the first value of the channel's own program counts
    }
    try {
        writeLoggedOp(out, channel.name, LogOp::set);
        out.raw(checkpoint::materialise(channel.pieces));
        return entry;
    } catch (const WrongTypeError& error) {
        throw CorruptCheckpointError("channel '" + std::string(channel.name) + "' cannot be read: " + error.message(),
                                     {.checkpoint_id = stored_.toString(), .channel = std::string(channel.name)});
    }
}

void LogWriter::addUnknownChannels(OperationLog& log) {
    if (unknown_.empty()) return;
    // This is rare: another version of the program wrote these channels. They are merged in the order of keys.
    struct Entry {
        std::string_view name;
        std::string_view bytes;
    };
    std::string own = std::move(log.entries);
    std::vector<Entry> entries;
    Decoder in(own);
    while (!in.atEnd()) {
        const std::string_view before = in.rest();
        const std::string_view name = in.text();
        in.skip();
        entries.push_back({name, before.substr(0, before.size() - in.rest().size())});
    }
    for (const Unknown& unknown : unknown_) entries.push_back({unknown.name, unknown.entry});
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return detail::storedBefore(a.name, b.name); });
    log.entries.clear();
    for (const Entry& entry : entries) log.entries += entry.bytes;
    log.count += unknown_.size();
}

void LogWriter::encode(const CommitStep& step, std::string& out) {
    const bool snapshot = snapshotIsDue();
    const bool fingerprints = snapshot || !fingerprints_logged_ || stored_.empty();
    if (fingerprints && settings_.core != nullptr) storeDescription(*settings_.saver, *settings_.core);
    if (snapshot || stored_.empty()) account_.base = step.id;
    schedule_.fill(*step.topology, step.state->schema(), *step.schedule, step.next, snapshot, fields_);
    fields_.visits.clear();  // possibly of another graph's run, since the writer is used again
    fields_.besides.has_all_visits = false;
    if (step.topology->has_lasting || !step.schedule->visits().empty())
        ScheduleFields::fillVisits(*step.schedule, snapshot || stored_.empty(), fields_);
    fields_.id = step.id;
    fields_.parent = stored_;
    fields_.base = account_.base;
    fields_.step = step.step;
    fields_.source = step.source;
    fields_.folds = settings_.durability == Durability::exit ? folds_ + 1 : 1;
    fields_.took = step.took;
    fields_.attempts = step.attempts;
    fields_.failure = step.failure;
    fields_.metadata = settings_.metadata;
    fields_.parents.assign(settings_.parents.begin(), settings_.parents.end());
    fields_.around = settings_.around;
    fields_.graph = fingerprints ? std::optional(settings_.graph) : std::nullopt;
    fields_.schema = fingerprints ? std::optional(settings_.schema) : std::nullopt;
    if (step.writes.empty() && (snapshot ? unknown_.empty() : !logsOperations())) {
        encodeInPlace(*step.state, snapshot, out);
    } else {
        encodeLogged(step, snapshot, out);
    }
    snapshot_forced_ = false;
    countSizes(snapshot, out.size());
    input_.assign(fields_.input.value_or(""));
    fingerprints_logged_ = true;
    schedule_.noteCommit();
    operations_.clear();
    step.schedule->forgetChanges();
}

void LogWriter::countSizes(bool snapshot, std::size_t bytes) {
    if (snapshot || stored_.empty()) {
        account_.replay_bytes = 0;
        account_.state_bytes = 0;
        std::fill(account_.channel_bytes.begin(), account_.channel_bytes.end(), 0);
        std::fill(account_.channel_set.begin(), account_.channel_set.end(), 0);
        for (const Unknown& unknown : unknown_) account_.state_bytes += unknown.entry.size();
        for (const auto& visit : fields_.visits) account_.state_bytes += visit.log.size() + visit_bytes;
    }
    account_.replay_bytes += bytes + row_cost_bytes;
    for (const auto& size : operations_.sizes) {
        std::size_t& known = account_.channel_bytes[size.channel];
        const std::size_t now = size.op == LogOp::clear ? 0 : size.op == LogOp::set ? size.bytes : known + size.bytes;
        account_.state_bytes = account_.state_bytes + now - std::min(known, account_.state_bytes + now);
        known = now;
        noteOperation(size.channel, size.op);
    }
}

// If a list was never set and is edited, it begins with a value that only the program knows. Nothing else could fold
// the edit into a value, so a prune could drop none of its commits. The next commit therefore holds the whole value.
void LogWriter::noteOperation(ChannelIndex channel, LogOp op) {
    if (op == LogOp::edit && account_.channel_set[channel] == 0) snapshot_forced_ = true;
    if (op == LogOp::set) account_.channel_set[channel] = 1;
    if (op == LogOp::clear) account_.channel_set[channel] = 0;
}

}  // namespace stategraph::engine
