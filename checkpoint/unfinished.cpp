#include <stategraph/unfinished.hpp>

#include <algorithm>

#include <stategraph/error.hpp>

#include "checkpoint/due_tasks.hpp"
#include "checkpoint/paths.hpp"
#include "src/value/times.hpp"

namespace stategraph {
namespace {

constexpr std::size_t page_size = 500;

using checkpoint::DueTask;

std::vector<Interrupt> openInterrupts(const checkpoint::TaskFields& record) {
    std::vector<Interrupt> open;
    for (const auto* asked : checkpoint::openQuestions(record)) {
        open.push_back({asked->id, asked->index, Value::fromCbor(std::string(asked->value)), std::string(asked->key)});
    }
    return open;
}

// What the record of the last run says; a word of a later version counts as none.
std::optional<Unfinished> stopOf(std::string_view word) {
    if (word == checkpoint::run_at_breakpoint) return Unfinished::breakpoint;
    if (word == checkpoint::run_at_limit) return Unfinished::limit;
    if (word == checkpoint::run_cancelled) return Unfinished::cancelled;
    if (word == checkpoint::run_timed_out) return Unfinished::timed_out;
    if (checkpoint::sleepsUntil(word)) return Unfinished::sleeping;
    if (word == checkpoint::run_edited) return Unfinished::edited;
    return {};
}

// Whether a commit's metadata, a CBOR map or nothing, has all entries of a filter.
bool hasMetadata(std::string_view stored, const Metadata& filter) {
    if (filter.empty()) return true;
    std::size_t found = 0;
    if (!stored.empty()) {
        Decoder in(stored);
        for (std::size_t count = in.map(); count > 0; --count) {
            const std::string_view key = in.text();
            const std::string_view value = in.raw();
            found += std::ranges::any_of(
                filter, [&](const MetadataEntry& entry) { return entry.key == key && entry.value.bytes() == value; });
        }
    }
    return found == filter.size();
}

// None if nothing is due, or the thread is cancelled, or its metadata are others. `is_finished`: nothing is due.
std::optional<UnfinishedThread> examine(const ListedCheckpoint& head, const Metadata& filter, bool& is_finished) {
    const LogName log{head.thread_id, head.checkpoint_ns};
    const auto commit = checkpoint::readCommit({head.thread_id, head.checkpoint_ns, head.id}, head.bytes, true);
    const auto records = checkpoint::readRecords(log, head.id, head.writes);
    const auto due = checkpoint::dueTasks(commit, records, true);
    is_finished = due.empty();
    if (is_finished || checkpoint::saysCancelled(records) || !hasMetadata(commit.metadata, filter)) return {};

    UnfinishedThread thread{.thread_id = head.thread_id,
                            .checkpoint_id = head.id,
                            .step = commit.step,
                            .reason = {},
                            .next = {},
                            .interrupts = {},
                            .error = {},
                            .wake_at = {}};
    const auto* run = checkpoint::findRecord(records, checkpoint::run_path);
    const bool went_on = run != nullptr && run->node == checkpoint::run_goes_on;
    bool any_open = false;
    bool any_failed = false;
    for (const DueTask& task : due) {
        if (task.finished) continue;
        thread.next.push_back(task.name);
        auto asked = task.record ? openInterrupts(*task.record) : std::vector<Interrupt>();
        const bool failed = task.record != nullptr && task.record->error && !went_on;
        if (!asked.empty()) {
            thread.interrupts.insert(thread.interrupts.end(), asked.begin(), asked.end());
        } else if (failed) {
            if (!any_failed) thread.error = std::string(*task.record->error);
            any_failed = true;
        } else {
            any_open = true;
        }
    }
    if (const auto stop = run != nullptr ? stopOf(run->node) : std::nullopt) {
        thread.reason = *stop;
        if (const auto unix_ms = checkpoint::sleepsUntil(run->node)) thread.wake_at = times::ofUnixMs(*unix_ms);
    } else if (any_failed && run != nullptr && run->node == checkpoint::run_failed) {
        thread.reason = Unfinished::failed;  // tasks that were not started since
    } else if (any_open || thread.next.empty()) {
        thread.reason = Unfinished::in_flight;
    } else {
        thread.reason = any_failed ? Unfinished::failed : Unfinished::interrupted;
    }
    return thread;
}

UnfinishedThread damagedThread(const ListedCheckpoint& head, std::string why) {
    UnfinishedThread thread;
    thread.thread_id = head.thread_id;
    thread.checkpoint_id = head.id;
    thread.reason = Unfinished::damaged;
    thread.error = std::move(why);
    return thread;
}

// The same; one that cannot be read is reported as that.
std::optional<UnfinishedThread> examineOrReport(const ListedCheckpoint& head, const Metadata& filter,
                                                bool& is_finished) {
    const bool any_will_do = filter.empty();
    if (!head.damaged.empty()) return any_will_do ? std::optional(damagedThread(head, head.damaged)) : std::nullopt;
    try {
        return examine(head, filter, is_finished);
    } catch (const CorruptCheckpointError& error) {
        if (!any_will_do) return {};
        return damagedThread(head, error.message());
    } catch (const WrongTypeError& error) {
        if (!any_will_do) return {};
        return damagedThread(head, "the record " + RowKey{head.thread_id, head.checkpoint_ns, head.id}.toString() +
                                       " cannot be read: " + error.message());
    }
}

// Tells the index that nothing is due at a head. It matters to who asks next and to nobody else, so a saver that is
// read-only, or is written to just now, is left as it is.
void tellFinished(BaseCheckpointSaver& saver, const ListedCheckpoint& head) {
    try {
        saver.put({.log = {head.thread_id, head.checkpoint_ns},
                   .expected_head = head.id,
                   .commits = {},
                   .writes = {},
                   .leaves_finished = true});
    } catch (const ConcurrentUpdateError&) {
    } catch (const SaverError&) {
    }
}

// Calls `take(head, &is_finished)` for each open thread behind a name until it returns false. False, and nothing was
// called, if the saver has no index. A thread that has been deleted meanwhile is passed over.
template <class Take>
bool forEachOpen(BaseCheckpointSaver& saver, std::optional<std::string> after, Take take) {
    for (;;) {
        auto names = saver.openThreads(after, page_size);
        if (!names) return false;
        if (names->empty()) return true;
        const bool is_last = names->size() < page_size;
        after = names->back();
        for (const ListedCheckpoint& head :
             saver.list({.checkpoint_ns = "", .heads = true, .with_writes = true, .thread_ids = std::move(*names)})) {
            bool is_finished = false;
            const bool goes_on = take(head, &is_finished);
            if (is_finished) tellFinished(saver, head);
            if (!goes_on) return true;
        }
        if (is_last) return true;
    }
}

}  // namespace

const char* toString(Unfinished reason) noexcept {
    switch (reason) {
        case Unfinished::in_flight:
            return "in_flight";
        case Unfinished::interrupted:
            return "interrupted";
        case Unfinished::failed:
            return "failed";
        case Unfinished::breakpoint:
            return "breakpoint";
        case Unfinished::limit:
            return "limit";
        case Unfinished::cancelled:
            return "cancelled";
        case Unfinished::timed_out:
            return "timed_out";
        case Unfinished::sleeping:
            return "sleeping";
        case Unfinished::edited:
            return "edited";
        case Unfinished::damaged:
            return "damaged";
    }
    return "?";
}

std::optional<UnfinishedThread> unfinishedThread(const ListedCheckpoint& head) {
    bool is_finished = false;
    return examineOrReport(head, {}, is_finished);
}

std::vector<UnfinishedThread> BaseCheckpointSaver::unfinishedThreads() { return unfinishedThreads({}); }

std::vector<UnfinishedThread> BaseCheckpointSaver::unfinishedThreads(const UnfinishedQuery& query) {
    if (query.limit && *query.limit < 1)
        throw InvalidArgumentError("unfinishedThreads: limit is 0; it must be at least 1");
    for (const MetadataEntry& entry : query.metadata) {
        const auto isSame = [&](const MetadataEntry& other) { return other.key == entry.key; };
        if (std::ranges::count_if(query.metadata, isSame) == 1) continue;
        throw InvalidArgumentError("unfinishedThreads: the filter names the metadata key '" + entry.key +
                                   "' twice; name each key once");
    }
    std::vector<UnfinishedThread> found;
    const auto take = [&](const ListedCheckpoint& head, bool* is_finished) {
        bool nothing_is_due = false;
        auto thread = examineOrReport(head, query.metadata, nothing_is_due);
        if (is_finished != nullptr) *is_finished = nothing_is_due;
        if (thread && (!query.reason || thread->reason == *query.reason)) found.push_back(std::move(*thread));
        return !query.limit || found.size() < *query.limit;
    };
    if (!forEachOpen(*this, query.after_thread_id, take)) {
        forEachHead({.after_thread_id = query.after_thread_id, .with_writes = true}, page_size,
                    [&](const ListedCheckpoint& head) { return take(head, nullptr); });
    }
    return found;
}

}  // namespace stategraph
