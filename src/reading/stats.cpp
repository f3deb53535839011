#include <stategraph/stats.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <ostream>
#include <string_view>
#include <utility>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/record.hpp"
#include "src/value/times.hpp"

namespace stategraph {
namespace {

constexpr std::size_t thread_page = 1000;
constexpr std::size_t commit_page = 250;  // the rows come with all their bytes and writes

// Counts by name while reading, and sorts by size at the end.
class Counter {
public:
    void add(const ListedCheckpoint& commit) {
        const RowKey key{commit.thread_id, commit.checkpoint_ns, commit.id};
        try {
            addCommit(key, commit.bytes);
            for (const StoredWrite& write : commit.writes)
                addPendingWrite({key.thread_id, key.checkpoint_ns, key.id, write.path}, write.bytes);
        } catch (const WrongTypeError& error) {
            throw CorruptCheckpointError("the record " + key.toString() + " cannot be read: " + error.message());
        }
    }

    void add(const Counter& other) {
        StorageBytes& to = bytes_;
        const StorageBytes& from = other.bytes_;
        to.commits += from.commits;
        to.pending_writes += from.pending_writes;
        to.schedule_bytes += from.schedule_bytes;
        to.metadata_bytes += from.metadata_bytes;
        to.input_bytes += from.input_bytes;
        to.operation_bytes += from.operation_bytes;
        to.snapshot_bytes += from.snapshot_bytes;
        to.task_write_bytes += from.task_write_bytes;
        to.pending_write_bytes += from.pending_write_bytes;
        for (const auto& [channel, bytes] : other.channels_) channels_[channel] += bytes;
    }

    StorageBytes result() const {
        StorageBytes bytes = bytes_;
        for (const auto& [channel, size] : channels_) bytes.channels.push_back({channel, size});
        std::stable_sort(bytes.channels.begin(), bytes.channels.end(),
                         [](const ChannelBytes& a, const ChannelBytes& b) { return a.bytes > b.bytes; });
        return bytes;
    }

private:
    void addCommit(const RowKey& key, std::string_view record) {
        const checkpoint::CommitFields commit = checkpoint::readCommit(key, record);
        ++bytes_.commits;
        std::uint64_t& operations = commit.base == key.id ? bytes_.snapshot_bytes : bytes_.operation_bytes;
        operations += commit.operations.size();
        for (const auto& operation : checkpoint::readOperations(commit.operations))
            count(operation.channel, operation.value);
        bytes_.metadata_bytes += commit.metadata.size();
        bytes_.input_bytes += addWrites(commit.input);
        for (const auto& write : checkpoint::readCommitWrites(commit)) {
            if (!write.as_logged) count(write.channel, write.value);
        }
        bytes_.task_write_bytes += commit.writes.value_or("").size();
        bytes_.schedule_bytes += record.size() - commit.operations.size() - commit.metadata.size() -
                                 commit.input.value_or("").size() - commit.writes.value_or("").size();
    }

    void addPendingWrite(const RowKey& key, std::string_view record) {
        ++bytes_.pending_writes;
        bytes_.pending_write_bytes += record.size();
        addWrites(checkpoint::readTask(key, record).writes);
    }

    std::size_t addWrites(const std::optional<std::string_view>& writes) {
        if (!writes) return 0;
        for (const auto& write : checkpoint::readWrites(*writes)) count(write.channel, write.value);
        return writes->size();
    }

    void count(std::string_view channel, std::string_view value) {
        auto at = channels_.find(channel);
        if (at == channels_.end()) at = channels_.emplace(channel, 0).first;
        at->second += channel.size() + value.size();
    }

    StorageBytes bytes_;
    std::map<std::string, std::uint64_t, std::less<>> channels_;
};

bool isLarger(const ThreadStats& a, const ThreadStats& b) {
    return a.bytes() != b.bytes() ? a.bytes() > b.bytes() : a.thread_id < b.thread_id;
}

class Reader {
public:
    static constexpr std::size_t every_thread = std::numeric_limits<std::size_t>::max();

    /// Lists only the largest threads, at most `most`.
    Reader(BaseCheckpointSaver& saver, const StatsQuery& query, std::size_t most = every_thread)
        : saver_(saver), query_(query), most_(most) {}

    SaverStats read() {
        if (query_.thread_id) {
            readThread(*query_.thread_id, namespacesOf(*query_.thread_id));
        } else {
            readAll();
        }
        if (most_ != every_thread) std::ranges::sort_heap(stats_.per_thread, isLarger);
        stats_.total = total_.result();
        stats_.stored_bytes = saver_.storedBytes();
        return std::move(stats_);
    }

private:
    void readAll() {
        std::optional<std::string> after;
        for (;;) {
            const std::vector<ListedCheckpoint> heads =
                saver_.list({.limit = thread_page, .heads = true, .after_thread_id = after});
            for (std::size_t i = 0; i < heads.size();) {
                const std::string& thread_id = heads[i].thread_id;
                std::vector<std::string> namespaces;
                for (; i < heads.size() && heads[i].thread_id == thread_id; ++i) addName(heads[i], namespaces);
                // The last thread of a full page may continue on the next page.
                const bool is_cut = i == heads.size() && heads.size() >= thread_page;
                try {
                    readThread(thread_id, is_cut ? namespacesOf(thread_id) : namespaces);
                } catch (const CorruptCheckpointError& error) {
                    stats_.damaged.push_back({thread_id, error.message()});
                }
            }
            if (heads.size() < thread_page || heads.back().thread_id == after) return;
            after = heads.back().thread_id;
        }
    }

    std::vector<std::string> namespacesOf(const std::string& thread_id) {
        std::vector<std::string> namespaces;
        for (const auto& head : saver_.list({.thread_id = thread_id, .heads = true})) addName(head, namespaces);
        return namespaces;
    }

    static void addName(const ListedCheckpoint& commit, std::vector<std::string>& namespaces) {
        if (namespaces.empty() || namespaces.back() != commit.checkpoint_ns) namespaces.push_back(commit.checkpoint_ns);
    }

    void readThread(const std::string& thread_id, const std::vector<std::string>& namespaces) {
        Counter counter;
        CheckpointId newest;
        std::uint64_t logs = 0;
        for (const auto& ns : namespaces) {
            const CheckpointId head = readLog(thread_id, ns, counter);
            newest = std::max(newest, head);
            logs += !head.empty();
        }
        if (logs == 0) return;
        ++stats_.threads;
        total_.add(counter);
        if (!query_.threads) return;
        ThreadStats thread;
        static_cast<StorageBytes&>(thread) = counter.result();
        thread.thread_id = thread_id;
        thread.namespaces = logs;
        thread.newest_at = newest.time();
        stats_.per_thread.push_back(std::move(thread));
        if (most_ == every_thread) return;
        // The heap's first element is the smallest of those that are kept.
        std::ranges::push_heap(stats_.per_thread, isLarger);
        if (stats_.per_thread.size() <= most_) return;
        std::ranges::pop_heap(stats_.per_thread, isLarger);
        stats_.per_thread.pop_back();
    }

    // Returns the newest commit, or none if the log no longer exists.
    CheckpointId readLog(const std::string& thread_id, const std::string& ns, Counter& counter) {
        CheckpointId newest;
        CheckpointId before;
        for (;;) {
            const std::vector<ListedCheckpoint> commits = saver_.list({.thread_id = thread_id,
                                                                       .checkpoint_ns = ns,
                                                                       .before = before,
                                                                       .limit = commit_page,
                                                                       .with_writes = true});
            for (const auto& commit : commits) counter.add(commit);
            if (!commits.empty()) newest = std::max(newest, commits.front().id);
            if (commits.size() < commit_page) return newest;
            before = commits.back().id;
        }
    }

    BaseCheckpointSaver& saver_;
    const StatsQuery& query_;
    const std::size_t most_;
    SaverStats stats_;
    Counter total_;
};

// The only list of the numbers and their names.
template <typename F>
void forEachNumber(const StorageBytes& bytes, F&& f) {
    f("commits", bytes.commits);
    f("pending_writes", bytes.pending_writes);
    f("bytes", bytes.bytes());
    f("schedule_bytes", bytes.schedule_bytes);
    f("metadata_bytes", bytes.metadata_bytes);
    f("input_bytes", bytes.input_bytes);
    f("operation_bytes", bytes.operation_bytes);
    f("snapshot_bytes", bytes.snapshot_bytes);
    f("task_write_bytes", bytes.task_write_bytes);
    f("pending_write_bytes", bytes.pending_write_bytes);
}
constexpr std::size_t number_count = 10;

void encodeBytes(const StorageBytes& bytes, Encoder& out) {
    forEachNumber(bytes, [&](const char* name, std::uint64_t number) {
        out.text(name);
        out.unsignedInteger(number);
    });
    out.text("channels");
    out.map(bytes.channels.size());
    for (const auto& channel : bytes.channels) {
        out.text(channel.channel);
        out.unsignedInteger(channel.bytes);
    }
}

}  // namespace

SaverStats BaseCheckpointSaver::stats(const StatsQuery& query) { return Reader(*this, query).read(); }
SaverStats BaseCheckpointSaver::stats() { return stats(StatsQuery()); }

SaverStats statsOfLargest(BaseCheckpointSaver& saver, std::size_t most) {
    const StatsQuery query{.thread_id = {}, .threads = most > 0};
    return Reader(saver, query, most).read();
}

std::string toJson(const SaverStats& stats) {
    std::string cbor;
    Encoder out(cbor);
    out.map(5);
    out.text("threads");
    out.unsignedInteger(stats.threads);
    out.text("stored_bytes");
    if (stats.stored_bytes) {
        out.unsignedInteger(*stats.stored_bytes);
    } else {
        out.null();
    }
    out.text("total");
    out.map(number_count + 1);
    encodeBytes(stats.total, out);
    out.text("per_thread");
    out.array(stats.per_thread.size());
    for (const auto& thread : stats.per_thread) {
        out.map(number_count + 4);
        out.text("thread_id");
        out.text(thread.thread_id);
        out.text("namespaces");
        out.unsignedInteger(thread.namespaces);
        out.text("newest_unix_ms");
        out.integer(times::unixMs(thread.newest_at));
        encodeBytes(thread, out);
    }
    out.text("damaged");
    out.array(stats.damaged.size());
    for (const DamagedThread& thread : stats.damaged) {
        out.map(2);
        out.text("thread_id");
        out.text(thread.thread_id);
        out.text("why");
        out.text(thread.why);
    }
    return cborToJson(cbor);
}

std::ostream& operator<<(std::ostream& out, const SaverStats& stats) {
    out << "threads " << stats.threads;
    if (stats.stored_bytes) out << ", stored_bytes " << *stats.stored_bytes;
    forEachNumber(stats.total, [&](const char* name, std::uint64_t number) { out << '\n' << name << ' ' << number; });
    for (const auto& channel : stats.total.channels) out << "\nchannel " << channel.channel << ' ' << channel.bytes;
    for (const auto& thread : stats.damaged) out << "\ndamaged thread " << thread.thread_id << ": " << thread.why;
    return out;
}

}  // namespace stategraph
