#include <stategraph/unfinished.hpp>

#include <algorithm>
#include <span>

#include <stategraph/error.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/outlook.hpp"
#include "src/checkpoint/paths.hpp"
#include "src/checkpoint/sealed_record.hpp"
#include "src/checkpoint/thread_summary.hpp"
#include "src/commit/metadata.hpp"
#include "src/reading/find_unfinished.hpp"

namespace stategraph {
namespace {

constexpr std::size_t unfinished_page_size = 500;

using checkpoint::DueTask;

std::vector<Interrupt> openInterrupts(const checkpoint::TaskFields& record) {
    std::vector<Interrupt> open;
    for (const auto* asked : checkpoint::openQuestions(record)) {
        open.push_back({asked->id, asked->index, Value::fromCbor(std::string(asked->value)), std::string(asked->key)});
    }
    return open;
}

/// What a thread's newest checkpoint says.
struct Examined {
    /// None if the thread is done or cancelled, or if its metadata do not match.
    std::optional<UnfinishedThread> thread = {};
    /// None if the checkpoint cannot be read.
    std::optional<ThreadOutlook> outlook = {};
    /// True if nothing is due, independent of the pending writes.
    bool is_over = false;
};

// Collects the due tasks that are not finished, and what they wait for. Returns the status, unless a run stored another
// one.
Status takeTasks(const std::vector<DueTask>& due, const checkpoint::TaskFields* run, UnfinishedThread& thread) {
    const std::string_view word = run != nullptr ? run->node : std::string_view();
    checkpoint::OpenTasks open;
    for (const DueTask& task : due) {
        if (task.finished) continue;
        thread.next.push_back(task.name);
        auto asked = task.record ? openInterrupts(*task.record) : std::vector<Interrupt>();
        thread.interrupts.insert(thread.interrupts.end(), asked.begin(), asked.end());
        const bool has_error = task.record != nullptr && task.record->error && word != checkpoint::run_goes_on;
        if (has_error && (asked.empty() || task.record->has_failed_since)) {
            if (!open.any_failed) thread.error = std::string(*task.record->error);
            open.any_failed = true;
        } else if (!asked.empty()) {
            open.any_asks = true;
        } else {
            open.any_waits = true;
        }
    }
    return open.status(word);
}

Examined examine(const ListedCheckpoint& head, const Metadata& filter) {
    const LogName log{head.thread_id, head.checkpoint_ns};
    const auto commit = checkpoint::readCommit({head.thread_id, head.checkpoint_ns, head.id}, head.bytes, true);
    const auto records = checkpoint::readRecords(log, head.id, head.writes);
    const auto due = checkpoint::dueTasks(commit, records, true);
    if (due.empty() && !commit.failure) return {.outlook = ThreadOutlook{Status::done, {}}, .is_over = true};

    UnfinishedThread thread{.thread_id = head.thread_id,
                            .checkpoint_id = head.id,
                            .step = commit.step,
                            .reason = {},
                            .next = {},
                            .interrupts = {},
                            .error = {},
                            .wake_at = {}};
    if (due.empty()) {
        Examined ended{.outlook = ThreadOutlook{Status::failed, {}}, .is_over = true};
        if (!engine::hasMetadata(commit.metadata, filter)) return ended;
        thread.reason = Status::failed;
        thread.error = *commit.failure;
        ended.thread = std::move(thread);
        return ended;
    }
    const auto* run = checkpoint::findRecord(records, checkpoint::run_path);
    ThreadOutlook outlook{takeTasks(due, run, thread), {}};
    if (const auto said = run != nullptr ? checkpoint::outlookOfRun(*run) : std::nullopt) {
        outlook = *said;
        if (run->error) thread.error = std::string(*run->error);
    }
    if (outlook.status == Status::done || !engine::hasMetadata(commit.metadata, filter)) return {.outlook = outlook};
    thread.reason = outlook.status;
    thread.wake_at = outlook.due;
    return {.thread = std::move(thread), .outlook = outlook};
}

// A record that is sealed is not damaged: the reader has no key.
UnfinishedThread unreadableThread(const ListedCheckpoint& head, std::string why) {
    UnfinishedThread thread;
    thread.thread_id = head.thread_id;
    thread.checkpoint_id = head.id;
    const bool is_sealed = head.damaged.empty() && checkpoint::isSealed(head.bytes);
    thread.reason = is_sealed ? Status::sealed : Status::damaged;
    thread.error = std::move(why);
    return thread;
}

// Does the same, and reports a checkpoint that cannot be read as such.
Examined examineOrReport(const ListedCheckpoint& head, const Metadata& filter) {
    const bool any_will_do = filter.empty();
    const auto report = [&](std::string why) {
        Examined damaged;
        if (any_will_do) damaged.thread = unreadableThread(head, std::move(why));
        return damaged;
    };
    if (!head.damaged.empty()) return report(head.damaged);
    try {
        return examine(head, filter);
    } catch (const CorruptCheckpointError& error) {
        return report(error.message());
    } catch (const WrongTypeError& error) {
        return report("the record " + RowKey{head.thread_id, head.checkpoint_ns, head.id}.toString() +
                      " cannot be read: " + error.message());
    }
}

// For a thread that can be read, and whose status is known.
std::string summaryOf(const ListedCheckpoint& head, const Examined& examined) {
    const std::string metadata = readHeader({head.thread_id, head.checkpoint_ns, head.id}, head.bytes).metadata;
    if (examined.outlook->status == Status::done) return checkpoint::writeSummary(metadata, {});
    const auto thread = examined.thread ? examined.thread : examine(head, {}).thread;
    std::vector<std::string_view> questions;
    if (thread) {
        for (const Interrupt& asked : thread->interrupts) questions.push_back(asked.value.bytes());
    }
    return checkpoint::writeSummary(metadata, questions);
}

// Updates the index with what the thread waits for, if that has not changed since it was read. Only the next query
// profits, so nothing is done if the saver is read-only or currently has a writer.
void tell(BaseCheckpointSaver& saver, const ListedCheckpoint& head, const Examined& examined) {
    std::vector<WriteRow> compared;
    if (!examined.is_over && examined.outlook->status != Status::in_flight) {
        const auto isThere = [&](std::string_view path) {
            return std::ranges::any_of(head.writes, [&](const StoredWrite& write) { return write.path == path; });
        };
        for (const StoredWrite& write : head.writes) {
            if (!write.path.starts_with(checkpoint::effect_prefix))
                compared.push_back({head.id, write.path, {}, write.bytes});
        }
        for (const std::string_view path : {checkpoint::run_path, checkpoint::command_path}) {
            if (!isThere(path)) compared.push_back({head.id, path, {}, ""});
        }
    }
    try {
        const bool is_known = examined.outlook->status != Status::in_flight;
        const std::string summary = is_known ? summaryOf(head, examined) : std::string();
        saver.put({.log = {head.thread_id, head.checkpoint_ns},
                   .expected_head = head.id,
                   .commits = {},
                   .writes = {},
                   .outlook = *examined.outlook,
                   .compared = compared,
                   .summary = summary});
    } catch (const ConcurrentUpdateError&) {
    } catch (const CorruptCheckpointError&) {
    } catch (const SaverError&) {
    }
}

void tellIfOther(BaseCheckpointSaver& saver, const ListedCheckpoint& head, const Examined& examined,
                 const IndexedThread& indexed) {
    if (!examined.outlook) return;
    const bool lacks_summary =
        indexed.summary && examined.outlook->status != Status::in_flight && !readThreadSummary(*indexed.summary);
    if (lacks_summary || *examined.outlook != indexed.outlook) tell(saver, head, examined);
}

// Whether a thread is worth reading for its metadata.
bool mayHaveMetadata(const IndexedThread& thread, const Metadata& filter) {
    const auto summary = thread.summary ? readThreadSummary(*thread.summary) : std::nullopt;
    return !summary || summary->hasMetadata(filter).value_or(true);
}

// Calls `take(head, examined)` for threads of an index, in their order, until it returns false, and then returns false.
// A thread that was deleted meanwhile is skipped.
template <class Take>
bool forEachOf(BaseCheckpointSaver& saver, const std::vector<IndexedThread>& threads, const Metadata& filter,
               Take take) {
    ListQuery query{.checkpoint_ns = "", .heads = true, .with_writes = true};
    for (const IndexedThread& thread : threads) {
        if (filter.empty() || mayHaveMetadata(thread, filter)) query.thread_ids.push_back(thread.place.thread_id);
    }
    if (query.thread_ids.empty()) return true;
    auto at = threads.begin();
    for (const ListedCheckpoint& head : saver.list(query)) {
        while (at->place.thread_id != head.thread_id) ++at;
        Examined examined = examineOrReport(head, filter);
        tellIfOther(saver, head, examined, *at);
        if (!take(std::move(examined))) return false;
    }
    return true;
}

// Does the same for all open threads with these statuses. Returns false without calling `take` if the saver has no
// index.
template <class Take>
bool forEachOpen(BaseCheckpointSaver& saver, const UnfinishedQuery& query, Statuses statuses, Take take) {
    OpenThreadsQuery page{.statuses = statuses,
                          .after_thread_id = query.after_thread_id,
                          .limit = unfinished_page_size,
                          .with_summaries = !query.metadata.empty()};
    for (;;) {
        const auto threads = saver.openThreads(page);
        if (!threads) return false;
        if (threads->empty() || !forEachOf(saver, *threads, query.metadata, take)) return true;
        if (threads->size() < unfinished_page_size) return true;
        page.after_thread_id = threads->back().place.thread_id;
    }
}

// Does the same for threads by name. If the saver has no index, it reads them one by one.
template <class Take>
void forEachNamed(BaseCheckpointSaver& saver, const UnfinishedQuery& query, Take take) {
    const bool has_index = saver.openThreads({.limit = 0}).has_value();
    const std::size_t together = has_index ? unfinished_page_size : 1;
    for (std::size_t at = 0; at < query.thread_ids.size(); at += together) {
        const std::span names = std::span(query.thread_ids).subspan(at);
        ListQuery page{.checkpoint_ns = "", .heads = true, .with_writes = true};
        if (has_index) {
            page.thread_ids.assign(names.begin(),
                                   names.begin() + static_cast<std::ptrdiff_t>(std::min(together, names.size())));
        } else {
            page.thread_id = names.front();
        }
        for (const ListedCheckpoint& head : saver.list(page)) {
            Examined examined = examineOrReport(head, query.metadata);
            if (has_index && examined.outlook) tell(saver, head, examined);
            if (!take(std::move(examined))) return;
        }
    }
}

void check(const UnfinishedQuery& query) {
    if (query.limit && *query.limit < 1)
        throw InvalidArgumentError("unfinishedThreads: limit is 0; it must be at least 1");
    for (const MetadataEntry& entry : query.metadata) {
        const auto isSame = [&](const MetadataEntry& other) { return other.key == entry.key; };
        if (std::ranges::count_if(query.metadata, isSame) == 1) continue;
        throw InvalidArgumentError("unfinishedThreads: the filter names the metadata key '" + entry.key +
                                   "' twice; name each key once");
    }
}

// Returns the statuses under which an index has threads with this one. A thread that cannot be read has its earlier one
// there, and each may be there as in flight.
Statuses statusesOf(std::optional<Status> status) {
    if (!status || Statuses::unreadable().has(*status)) return Statuses::open();
    return Statuses(Status::in_flight) | *status;
}

}  // namespace

Status statusOf(const ListedCheckpoint& head) {
    const Examined examined = examineOrReport(head, {});
    return examined.thread ? examined.thread->reason : Status::done;
}

std::optional<UnfinishedThread> unfinishedThread(const ListedCheckpoint& head) {
    return examineOrReport(head, {}).thread;
}

std::optional<UnfinishedThread> unfinishedThread(BaseCheckpointSaver& saver, const ListedCheckpoint& head,
                                                 const ThreadOutlook& indexed) {
    return unfinishedThread(saver, head, IndexedThread{.place = {}, .outlook = indexed});
}

std::optional<UnfinishedThread> unfinishedThread(BaseCheckpointSaver& saver, const ListedCheckpoint& head,
                                                 const IndexedThread& indexed) {
    Examined examined = examineOrReport(head, {});
    tellIfOther(saver, head, examined, indexed);
    return std::move(examined.thread);
}

std::vector<UnfinishedThread> BaseCheckpointSaver::unfinishedThreads() { return unfinishedThreads({}); }

std::vector<UnfinishedThread> BaseCheckpointSaver::unfinishedThreads(const UnfinishedQuery& query) {
    return checkpoint::findUnfinished(*this, query, statusesOf(query.reason));
}

std::vector<UnfinishedThread> checkpoint::findUnfinished(BaseCheckpointSaver& saver, const UnfinishedQuery& query,
                                                         Statuses statuses) {
    check(query);
    std::vector<UnfinishedThread> found;
    const auto take = [&](Examined&& examined) {
        auto& thread = examined.thread;
        if (thread && (!query.reason || thread->reason == *query.reason)) found.push_back(std::move(*thread));
        return !query.limit || found.size() < *query.limit;
    };
    if (!query.thread_ids.empty()) {
        forEachNamed(saver, query, take);
    } else if (!forEachOpen(saver, query, statuses, take)) {
        saver.forEachHead({.after_thread_id = query.after_thread_id, .with_writes = true}, unfinished_page_size,
                          [&](const ListedCheckpoint& head) { return take(examineOrReport(head, query.metadata)); });
    }
    return found;
}

}  // namespace stategraph
