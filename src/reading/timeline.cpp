#include <stategraph/timeline.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/sealed_record.hpp"
#include "src/history/checkpoint_view.hpp"
#include "src/reading/log_page.hpp"

namespace stategraph {
namespace {

void readSealed(const RowKey& key, const ListedCheckpoint& listed, TimelineEntry& entry) {
    const RecordLinks links = checkpoint::readSealedLinks(key, listed.bytes);
    entry.is_sealed = true;
    entry.parent = links.parent;
    entry.is_whole = links.base == listed.id;
    if (!links.is_finished) entry.next.emplace_back();
    for (const StoredWrite& write : listed.writes) {
        ++entry.records;
        entry.open_questions +=
            checkpoint::readSealedOpen({key.thread_id, key.checkpoint_ns, key.id, write.path}, write.bytes);
    }
}

void readOpen(const RowKey& key, const ListedCheckpoint& listed, TimelineEntry& entry) {
    const LogName log{key.thread_id, key.checkpoint_ns};
    const auto commit = checkpoint::readCommit(key, listed.bytes, true);
    entry.parent = commit.parent;
    entry.step = commit.step;
    entry.source = commit.source;
    entry.metadata = engine::readMetadata(commit.metadata);
    entry.is_whole = commit.base == listed.id;
    if (commit.took) entry.took = engine::shownUs(commit.took->superstep_us);
    const auto records = checkpoint::readRecords(log, listed.id, listed.writes);
    for (const auto& task : checkpoint::dueTasks(commit, records, false)) {
        entry.next.push_back(task.name);
        if (task.record == nullptr) continue;
        ++entry.records;
        if (task.finished) continue;
        entry.open_questions += checkpoint::openQuestions(*task.record).size();
        if (task.record->error && entry.error.empty()) entry.error = std::string(*task.record->error);
    }
    if (checkpoint::saysCancelled(records)) entry.open_questions = 0;
}

TimelineEntry read(const ListedCheckpoint& listed) {
    const RowKey key{listed.thread_id, listed.checkpoint_ns, listed.id};
    TimelineEntry entry;
    const auto begin = [&] {
        entry = {};
        entry.id = listed.id;
        entry.created_at = listed.id.time();
        entry.commit_bytes = listed.bytes.size();
        for (const StoredWrite& write : listed.writes) entry.writes_bytes += write.bytes.size();
    };
    begin();
    entry.damaged = listed.damaged;
    if (!entry.damaged.empty()) return entry;
    std::string why;
    try {
        if (checkpoint::isSealed(listed.bytes)) {
            readSealed(key, listed, entry);
        } else {
            readOpen(key, listed, entry);
        }
        return entry;
    } catch (const CorruptCheckpointError& error) {
        why = error.message();
    } catch (const WrongTypeError& error) {
        why = "the record " + key.toString() + " cannot be read: " + error.message();
    }
    begin();
    entry.damaged = std::move(why);
    return entry;
}

}  // namespace

namespace {

// Gives the parents of listed checkpoints the times of their tasks. Where several continue one, the newest counts.
class TaskTimes {
public:
    void note(const TimelineEntry& child) {
        if (child.took && child.source == Source::loop && child.parent) took_.try_emplace(child.parent, *child.took);
    }
    void giveTo(TimelineEntry& entry) const {
        if (const auto found = took_.find(entry.id); found != took_.end()) entry.next_took = found->second;
    }

private:
    std::map<CheckpointId, std::chrono::microseconds> took_;
};

}  // namespace

std::vector<TimelineEntry> readTimeline(BaseCheckpointSaver& saver, const Config& log, const TimelineQuery& query) {
    reading::requireThread(log, "readTimeline");
    if (query.limit < 1) throw InvalidArgumentError("readTimeline: limit is 0; it must be at least 1");
    return reading::named(log, [&] {
        const auto listed = saver.list({.thread_id = log.thread_id.toString(),
                                        .checkpoint_ns = log.checkpoint_ns,
                                        .before = query.before,
                                        .limit = query.limit,
                                        .with_writes = true});
        std::vector<TimelineEntry> entries;
        entries.reserve(listed.size());
        TaskTimes times;
        // The checkpoint with which the page before this one ends.
        if (query.before && !listed.empty()) {
            const auto later = saver.list({.thread_id = log.thread_id.toString(),
                                           .checkpoint_ns = log.checkpoint_ns,
                                           .before = CheckpointId(query.before.high(), query.before.low() + 1),
                                           .limit = 1});
            if (!later.empty() && later.front().id == query.before) times.note(read(later.front()));
        }
        for (const ListedCheckpoint& each : listed) {
            TimelineEntry& entry = entries.emplace_back(read(each));
            times.giveTo(entry);
            times.note(entry);
        }
        return entries;
    });
}

std::vector<std::string> readNamespaces(BaseCheckpointSaver& saver, const ThreadId& thread) {
    const Config config{.thread_id = thread};
    reading::requireThread(config, "readNamespaces");
    return reading::named(config, [&] {
        std::vector<std::string> names;
        for (ListedCheckpoint& head : saver.list({.thread_id = thread.toString(), .heads = true})) {
            names.push_back(std::move(head.checkpoint_ns));
        }
        std::ranges::sort(names);
        return names;
    });
}

}  // namespace stategraph
