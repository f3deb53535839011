#include "inspect/supersteps.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "inspect/views.hpp"
#include "src/checkpoint/sealed_record.hpp"
#include "src/history/read_called.hpp"
#include "src/reading/changes.hpp"
#include "src/reading/shown_names.hpp"

namespace stategraph::inspect {
namespace {

bool isReadable(const ListedCheckpoint& row) { return row.damaged.empty() && !checkpoint::isSealed(row.bytes); }

/// Adds to a list that is sorted by channel.
void add(const Written& written, std::vector<Written>& list) {
    const auto place = std::ranges::lower_bound(list, written.channel, {}, &Written::channel);
    if (place != list.end() && place->channel == written.channel) {
        place->bytes += written.bytes;
    } else {
        list.insert(place, written);
    }
}

/// The channels of a result, {channel: written}.
std::vector<Written> writtenIn(const Value& result) {
    std::vector<Written> list;
    if (result.isNull()) return list;
    Decoder in(result.bytes());
    for (std::size_t left = in.map(); left > 0; --left) {
        std::string channel(in.text());
        add({std::move(channel), in.raw().size()}, list);
    }
    return list;
}

/// One page of a log: its rows by id, and the names of nodes.
class Page {
public:
    Page(BaseCheckpointSaver& saver, const Config& log, CheckpointId before, std::size_t limit)
        : saver_(saver), log_(log) {
        // One more, because it is the parent of the last one.
        listed_ = list(before, std::max(limit, limit + 1));  // the greatest number has none after it
        for (const ListedCheckpoint& row : listed_) rows_.emplace(row.id, &row);
        for (auto row = listed_.rbegin(); row != listed_.rend(); ++row) noteHeader(*row);
        if (!before || listed_.empty()) return;
        try {
            noteNewer(before);
        } catch (const CorruptCheckpointError&) {
            return;  // then the first one counts as the end of its branch
        }
    }

    Superstep read(TimelineEntry entry) {
        Superstep step{.entry = std::move(entry)};
        const auto own = rows_.find(step.entry.id);
        if (own == rows_.end() || !step.entry.damaged.empty() || step.entry.is_sealed) return step;
        try {
            readRow(*own->second, step);
        } catch (const CorruptCheckpointError&) {
            forgetWhatRan(step);  // the damaged record has an entry that says so
        } catch (const WrongTypeError&) {
            forgetWhatRan(step);
        }
        return step;
    }

private:
    static void forgetWhatRan(Superstep& step) {
        step.ran.clear();
        step.wrote.clear();
    }

    std::vector<ListedCheckpoint> list(CheckpointId before, std::size_t limit) {
        return saver_.list({.thread_id = log_.thread_id.toString(),
                            .checkpoint_ns = log_.checkpoint_ns,
                            .before = before,
                            .limit = limit,
                            .with_writes = true});
    }

    // The checkpoint with which the page before this one ends or, if the page begins with a checkpoint that the caller
    // chose, the one that follows it.
    void noteNewer(CheckpointId before) {
        if (const ListedCheckpoint* const newer = rowOf(before)) return noteHeader(*newer);
        const ListedCheckpoint& first = listed_.front();
        const auto tuple = saver_.getTuple({.log = name(), .checkpoint_id = first.id});
        if (!tuple || !tuple->next) return;
        noteHeader({.thread_id = first.thread_id,
                    .checkpoint_ns = first.checkpoint_ns,
                    .id = tuple->next->id,
                    .bytes = tuple->next->bytes,
                    .writes = {}});
    }

    LogName name() const { return {log_.thread_id.view(), log_.checkpoint_ns}; }

    void readRow(const ListedCheckpoint& row, Superstep& step) {
        const auto commit = checkpoint::readCommit(keyOf(row), row.bytes, true);
        step.supersteps = commit.folds;
        nameDue(row, step.entry);
        if (!continued_.contains(row.id)) step.due = tasksOf(row, {});
        const ListedCheckpoint* const parent = commit.parent ? rowOf(commit.parent) : nullptr;
        if (commit.source == Source::loop && commit.folds == 1 && parent != nullptr && isReadable(*parent)) {
            step.ran = tasksOf(*parent, StoredCommit{row.id, row.bytes});
            for (const StepTask& each : step.ran) {
                for (const Written& written : each.wrote) add(written, step.wrote);
            }
        } else {
            step.wrote = writtenBy(row, commit, parent);
        }
    }

    static RowKey keyOf(const ListedCheckpoint& row) { return {row.thread_id, row.checkpoint_ns, row.id}; }

    // What an input, an edit, or a commit of several supersteps wrote. One that holds the whole state does not say it.
    std::vector<Written> writtenBy(const ListedCheckpoint& row, const checkpoint::CommitFields& commit,
                                   const ListedCheckpoint* parent) {
        std::vector<Written> list;
        if (commit.input) {
            for (const auto& write : checkpoint::readWrites(*commit.input))
                add({std::string(write.channel), write.value.size()}, list);
        }
        if (commit.base == row.id && commit.parent) return list;
        checkpoint::CommitFields above;
        if (parent != nullptr && isReadable(*parent))
            above = checkpoint::readCommit(keyOf(*parent), parent->bytes, true);
        checkpoint::CommitReader reader;
        reading::readWithInput(keyOf(row), row.bytes, above.input, reader);
        for (const auto& operation : reader.operations)
            add({std::string(operation.channel), operation.value.size()}, list);
        return list;
    }

    // The tasks of a checkpoint; those that ended are read from the commit that they led to.
    std::vector<StepTask> tasksOf(const ListedCheckpoint& row, const std::optional<StoredCommit>& follower) {
        const auto commit = checkpoint::readCommit(keyOf(row), row.bytes, true);
        const auto records = checkpoint::readRecords(name(), row.id, row.writes);
        if (!follower && checkpoint::saysCancelled(records)) return {};
        auto due = engine::calledTasks(commit, records, true);
        namesOf(row.id).show(due);
        SnapshotData snapshot = engine::describe(name(), commit, due, false, follower);
        std::vector<StepTask> tasks;
        for (TaskSnapshot& task : snapshot.tasks) {
            StepTask& made = tasks.emplace_back();
            made.wrote = writtenIn(task.result);
            task.result = task.input = Value();
            for (auto* questions : {&task.interrupts, &task.open_interrupts}) {
                for (Interrupt& each : *questions) each.value = Value();
            }
            made.task = std::move(task);
        }
        return tasks;
    }

    const ListedCheckpoint* rowOf(CheckpointId id) {
        if (const auto found = rows_.find(id); found != rows_.end()) return found->second;
        const auto [other, is_new] = others_.try_emplace(id);
        if (is_new) other->second = list(justAfter(id), 1);
        return other->second.empty() || other->second.front().id != id ? nullptr : &other->second.front();
    }

    void nameDue(const ListedCheckpoint& row, TimelineEntry& entry) {
        const auto& graph = namesOf(row.id).graph();
        if (!graph) return;
        for (std::string& node : entry.next) node = graph->shownName(node);
    }

    // A commit without fingerprints has those of its parent.
    void noteHeader(const ListedCheckpoint& row) {
        try {
            if (!isReadable(row)) return;
            const auto commit = checkpoint::readCommit(keyOf(row), row.bytes, true);
            if (commit.source == Source::loop && commit.parent) continued_.insert(commit.parent);
            if (commit.graph && commit.schema) {
                graphs_[row.id] = {*commit.graph, *commit.schema};
            } else if (const auto above = graphs_.find(commit.parent); above != graphs_.end()) {
                graphs_[row.id] = GraphFingerprint(above->second);
            }
        } catch (const CorruptCheckpointError&) {
            return;  // its own entry says so
        }
    }

    const reading::ShownNames& namesOf(CheckpointId id) {
        const auto known = graphs_.find(id);
        const std::optional<GraphFingerprint> graph =
            known == graphs_.end() ? std::nullopt : std::optional(known->second);
        auto found = names_.find(graph);
        if (found == names_.end()) {
            Config at = log_;
            at.checkpoint_id = id;
            found = names_.emplace(graph, graph ? reading::ShownNames(saver_, *graph) : reading::ShownNames(saver_, at))
                        .first;
        }
        return found->second;
    }

    BaseCheckpointSaver& saver_;
    const Config& log_;
    std::vector<ListedCheckpoint> listed_;
    std::map<CheckpointId, const ListedCheckpoint*> rows_;
    std::map<CheckpointId, std::vector<ListedCheckpoint>> others_;  // parents that are not in the page
    std::set<CheckpointId> continued_;
    std::map<CheckpointId, GraphFingerprint> graphs_;
    std::map<std::optional<GraphFingerprint>, reading::ShownNames>
        names_;  // none: rows whose graph the page does not say
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool hasText(std::string_view whole, std::string_view part) {
    return !std::ranges::search(whole, part, {}, lower, lower).empty();
}

template <class Test>
bool anyTask(const Superstep& step, Test test) {
    return std::ranges::any_of(step.ran, test) || std::ranges::any_of(step.due, test);
}

bool hasStatus(const Superstep& step, std::string_view status) {
    if (status == "unfinished") return !step.due.empty();
    if (status == "failed") {
        return !step.entry.damaged.empty() ||
               anyTask(step, [](const StepTask& each) { return each.task.error.has_value(); });
    }
    if (status == "retried") return anyTask(step, [](const StepTask& each) { return each.task.attempts > 1; });
    if (status == "asked") return anyTask(step, [](const StepTask& each) { return !each.task.interrupts.empty(); });
    return step.entry.damaged.empty() && !step.entry.is_sealed && toString(step.entry.source) == status;
}

bool isSelected(const Superstep& step, const SuperstepQuery& query) {
    if (!query.status.empty() && !hasStatus(step, query.status)) return false;
    if (!query.node.empty() && !anyTask(step, [&](const StepTask& each) { return each.task.name == query.node; }))
        return false;
    if (query.text.empty()) return true;
    const auto has = [&](std::string_view whole) { return hasText(whole, query.text); };
    return has(step.entry.damaged) ||
           std::ranges::any_of(step.wrote, [&](const Written& written) { return has(written.channel); }) ||
           anyTask(step,
                   [&](const StepTask& each) { return has(each.task.name) || has(each.task.error.value_or("")); });
}

}  // namespace

CheckpointId justAfter(CheckpointId id) {
    return CheckpointId(id.high() + (id.low() == UINT64_MAX ? 1 : 0), id.low() + 1);
}

SuperstepPage readSupersteps(BaseCheckpointSaver& saver, const Config& log, const SuperstepQuery& query) {
    if (!query.status.empty() && std::ranges::find(superstep_statuses, query.status) == std::end(superstep_statuses)) {
        std::string words;
        for (const char* word : superstep_statuses) words += (words.empty() ? "" : ", ") + std::string(word);
        throw InvalidArgumentError("there is no status '" + query.status + "' of supersteps; there are: " + words);
    }
    const bool selects = !query.node.empty() || !query.status.empty() || !query.text.empty();
    SuperstepPage found;
    CheckpointId before = query.before;
    std::size_t tasks = 0;
    std::size_t bytes = 0;
    for (std::size_t looked_at = 0;;) {
        const std::size_t rows = std::min(rows_a_page, selects ? query.entries_max : query.limit - found.rows.size());
        auto entries = readTimeline(saver, log, {.before = before, .limit = rows});
        const bool is_last = entries.size() < rows;
        Page page(saver, log, before, rows);
        for (TimelineEntry& entry : entries) {
            before = entry.id;
            Superstep step = page.read(std::move(entry));
            tasks += step.ran.size() + step.due.size();
            bytes += step.entry.commit_bytes + step.entry.writes_bytes;
            if (!selects || isSelected(step, query)) found.rows.push_back(std::move(step));
            if (found.rows.size() < query.limit && tasks < query.tasks_max && bytes < query.bytes_max) continue;
            found.next = before;
            return found;
        }
        looked_at += entries.size();
        if (is_last) return found;
        if (selects && looked_at >= query.entries_max) {
            found.next = before;
            return found;
        }
    }
}

}  // namespace stategraph::inspect
