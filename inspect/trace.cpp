#include "inspect/trace.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/error.hpp>
#include <stategraph/read_checkpoint.hpp>
#include <stategraph/timeline.hpp>

#include "inspect/store.hpp"
#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

using std::chrono::microseconds;

using Details = std::map<std::string, Value>;

/// A slice of the trace, or an instant.
struct Slice {
    std::string name;
    std::string kind;
    std::int64_t begin_us = 0;
    std::optional<std::int64_t> took_us;
    std::size_t process = 0;
    std::size_t track = 0;
    Details details;
};

/// A row of the trace: a thread of one of its processes.
struct Track {
    std::size_t process = 0;
    std::string name;
    std::int64_t ends_us = 0;  // of a row of tasks: when its last one ended
};

class Trace {
public:
    Trace(BaseCheckpointSaver& saver, std::string thread) : saver_(saver), thread_(std::move(thread)) {}

    /// Returns the number of checkpoints.
    std::size_t read() {
        std::size_t count = 0;
        for (const std::string& ns : readNamespaces(saver_, ThreadId(thread_))) {
            processes_.push_back(ns.empty() ? "thread " + thread_ : "subgraph " + ns);
            count += readLog(ns);
        }
        return count;
    }

    void write(std::ostream& out);

private:
    std::size_t readLog(const std::string& ns);
    void addBranch(const std::string& ns, const std::vector<const TimelineEntry*>& branch, const std::string& name);
    void addCheckpoint(const TimelineEntry& entry, std::size_t track);
    void addTasks(const Config& config, const TimelineEntry& entry, std::vector<std::size_t>& rows,
                  const std::string& branch);
    void addTask(const TaskSnapshot& task, const TimelineEntry& entry, std::vector<std::size_t>& rows,
                 const std::string& branch);
    std::size_t rowFor(std::int64_t begin_us, std::vector<std::size_t>& rows, const std::string& branch);

    std::size_t process() const { return processes_.size(); }
    std::size_t addTrack(std::string name) {
        tracks_.push_back({process(), std::move(name)});
        return tracks_.size();
    }

    BaseCheckpointSaver& saver_;
    std::string thread_;
    std::vector<std::string> processes_;  // numbered from 1
    std::vector<Track> tracks_;           // numbered from 1
    std::vector<Slice> slices_;
};

std::vector<TimelineEntry> entriesOf(BaseCheckpointSaver& saver, const Config& log) {
    std::vector<TimelineEntry> entries;
    TimelineQuery query{.limit = rows_a_page};
    for (;;) {
        auto page = readTimeline(saver, log, query);
        const bool is_last = page.size() < rows_a_page;
        entries.insert(entries.end(), std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
        if (is_last) return entries;
        query.before = entries.back().id;
    }
}

// Each checkpoint belongs to the branch of its newest descendant.
std::size_t Trace::readLog(const std::string& ns) {
    const auto entries = entriesOf(saver_, {.thread_id = ThreadId(thread_), .checkpoint_id = {}, .checkpoint_ns = ns});
    std::map<CheckpointId, const TimelineEntry*> free;
    for (const TimelineEntry& entry : entries) free.emplace(entry.id, &entry);
    std::size_t branches = 0;
    for (const TimelineEntry& newest : entries) {
        std::vector<const TimelineEntry*> branch;
        for (auto at = free.find(newest.id); at != free.end();) {
            const TimelineEntry* const entry = at->second;
            branch.push_back(entry);
            free.erase(at);
            at = entry->parent.empty() ? free.end() : free.find(entry->parent);
        }
        if (branch.empty()) continue;
        addBranch(ns, branch, branches == 0 ? "newest branch" : "branch " + std::to_string(branches + 1));
        ++branches;
    }
    return entries.size();
}

void Trace::addBranch(const std::string& ns, const std::vector<const TimelineEntry*>& branch, const std::string& name) {
    const std::size_t track = addTrack(name);
    std::vector<std::size_t> rows;
    for (auto at = branch.rbegin(); at != branch.rend(); ++at) {
        const TimelineEntry& entry = **at;
        addCheckpoint(entry, track);
        if (!entry.damaged.empty() || entry.is_sealed) continue;
        addTasks({.thread_id = ThreadId(thread_), .checkpoint_id = entry.id, .checkpoint_ns = ns}, entry, rows, name);
    }
}

void Trace::addCheckpoint(const TimelineEntry& entry, std::size_t track) {
    Slice slice{.name = "step " + std::to_string(entry.step),
                .kind = toString(entry.source),
                .begin_us = usOf(entry.created_at),
                .took_us = {},
                .process = process(),
                .track = track,
                .details = {{"checkpoint_id", entry.id.toString()}}};
    if (!entry.damaged.empty() || entry.is_sealed) {
        slice.name = slice.kind = entry.is_sealed ? "sealed" : "damaged";
        if (!entry.damaged.empty()) slice.details.emplace("why", entry.damaged);
    } else {
        slice.details.emplace("step", entry.step);
        slice.details.emplace("next", entry.next);
        slice.details.emplace("bytes", entry.commit_bytes + entry.writes_bytes);
        if (entry.source != Source::loop) slice.name = std::string(toString(entry.source)) + ", " + slice.name;
    }
    if (entry.took) {
        slice.took_us = entry.took->count();
        slice.begin_us -= *slice.took_us;
    }
    slices_.push_back(std::move(slice));
}

void Trace::addTasks(const Config& config, const TimelineEntry& entry, std::vector<std::size_t>& rows,
                     const std::string& branch) {
    std::optional<SnapshotData> snapshot;
    try {
        snapshot = readCheckpoint(saver_, config, {.values = false});
    } catch (const CorruptCheckpointError&) {
        return;  // one that it is read from is damaged, and is shown as such
    }
    if (!snapshot) return;  // it was pruned meanwhile
    std::ranges::stable_sort(snapshot->tasks, {}, [](const TaskSnapshot& task) { return task.started_at; });
    for (const TaskSnapshot& task : snapshot->tasks) addTask(task, entry, rows, branch);
}

void Trace::addTask(const TaskSnapshot& task, const TimelineEntry& entry, std::vector<std::size_t>& rows,
                    const std::string& branch) {
    const bool has_time = task.took && task.started_at;
    if (!has_time && !task.error && task.open_interrupts.empty()) return;
    Slice slice{.name = task.name,
                .kind = "task",
                .begin_us = usOf(has_time ? *task.started_at : entry.created_at),
                .took_us = {},
                .process = process(),
                .track = 0,
                .details = {{"task_id", task.id.toString()}, {"path", task.path}, {"finished", task.finished}}};
    if (has_time) slice.took_us = task.took->count();
    if (task.attempts > 1) slice.details.emplace("attempts", task.attempts);
    if (task.error) slice.details.emplace("error", *task.error);
    if (!task.open_interrupts.empty()) slice.details.emplace("open_questions", task.open_interrupts.size());
    if (task.state_config) slice.details.emplace("subgraph", std::string(task.state_config->checkpoint_ns));
    slice.track = rowFor(slice.begin_us, rows, branch);
    tracks_[slice.track - 1].ends_us = slice.begin_us + slice.took_us.value_or(0);
    slices_.push_back(std::move(slice));
}

// Returns the first row in which nothing runs at that time.
std::size_t Trace::rowFor(std::int64_t begin_us, std::vector<std::size_t>& rows, const std::string& branch) {
    for (const std::size_t row : rows) {
        if (tracks_[row - 1].ends_us <= begin_us) return row;
    }
    rows.push_back(
        addTrack("tasks of the " + branch + (rows.empty() ? "" : " (" + std::to_string(rows.size() + 1) + ")")));
    return rows.back();
}

// Names a process of the trace (then `track` is 0) or a thread of it, and places it in the order of numbers.
void writeName(std::ostream& out, std::size_t process, std::size_t track, const std::string& name) {
    const std::string what = track == 0 ? "process" : "thread";
    const std::string place = R"(","pid":)" + std::to_string(process) + R"(,"tid":)" + std::to_string(track);
    out << R"({"ph":"M","name":")" << what << "_name" << place << R"(,"args":{"name":)" << Value(name).toJson()
        << "}},\n"
        << R"({"ph":"M","name":")" << what << "_sort_index" << place << R"(,"args":{"sort_index":)"
        << (track == 0 ? process : track) << "}}";
}

void Trace::write(std::ostream& out) {
    std::ranges::stable_sort(slices_, {}, &Slice::begin_us);
    const std::int64_t start_us = slices_.empty() ? 0 : slices_.front().begin_us;
    out << R"({"displayTimeUnit":"ms","otherData":{"thread_id":)" << Value(thread_).toJson() << R"(,"begins_at":")"
        << isoTime(std::chrono::system_clock::time_point(microseconds(start_us))) << "\"},\n\"traceEvents\":[\n";
    const char* separator = "";
    for (std::size_t i = 0; i < processes_.size(); ++i) {
        out << std::exchange(separator, ",\n");
        writeName(out, i + 1, 0, processes_[i]);
    }
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
        out << std::exchange(separator, ",\n");
        writeName(out, tracks_[i].process, i + 1, tracks_[i].name);
    }
    for (const Slice& slice : slices_) {
        out << std::exchange(separator, ",\n") << R"({"name":)" << Value(slice.name).toJson() << R"(,"cat":)"
            << Value(slice.kind).toJson() << R"(,"ts":)" << slice.begin_us - start_us << R"(,"pid":)" << slice.process
            << R"(,"tid":)" << slice.track;
        if (slice.took_us) {
            out << R"(,"ph":"X","dur":)" << *slice.took_us;
        } else {
            out << R"(,"ph":"i","s":"t")";
        }
        out << R"(,"args":)" << Value(slice.details).toJson() << '}';
    }
    out << "\n]}\n";
}

}  // namespace

std::size_t writeTrace(BaseCheckpointSaver& saver, const std::string& thread_id, std::ostream& out) {
    Trace trace(saver, thread_id);
    const std::size_t checkpoints = trace.read();
    if (checkpoints == 0) throw NotFound{"there is no thread '" + thread_id + "'"};
    trace.write(out);
    return checkpoints;
}

}  // namespace stategraph::inspect
