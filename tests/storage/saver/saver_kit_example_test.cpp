// A minimal saver on std::map, and its tests. docs/savers.md explains it.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/saver_rules.hpp>
#include <stategraph/testing/saver_contract.hpp>

namespace sg = stategraph;
using sg::CheckpointId;

namespace {

class MapSaver final : public sg::BaseCheckpointSaver {
public:
    // [begin put]
    void put(const sg::PutRequest& request) override {
        sg::checkpoint::checkPut(request);
        const std::lock_guard lock(mutex_);
        const Log* const log = find(request.log);
        const auto hasCommit = [this](const sg::LogName& name, CheckpointId id) {
            const Log* const asked = find(name);
            return asked != nullptr && asked->commits.contains(id);
        };
        const auto findWrite = [log](const sg::WriteRow& row) -> std::optional<std::string> {
            if (!log) return {};
            const auto at = log->writes.find({row.checkpoint_id, std::string(row.path)});
            return at == log->writes.end() ? std::nullopt : std::optional(at->second);
        };
        const CheckpointId head = log && !log->commits.empty() ? log->commits.rbegin()->first : CheckpointId();
        sg::checkpoint::checkStored(request, head, hasCommit, findWrite);
        if (request.commits.empty() && request.writes.empty()) return;
        Log& target = threads_[std::string(request.log.thread_id)][std::string(request.log.checkpoint_ns)];
        for (const auto& row : request.commits) target.commits.emplace(row.id, row.bytes);
        for (const auto& row : request.writes) target.writes[{row.checkpoint_id, std::string(row.path)}] = row.bytes;
    }
    // [end put]

    // [begin get]
    std::optional<sg::CheckpointTuple> getTuple(const sg::TupleQuery& query) override {
        const std::lock_guard lock(mutex_);
        const Log* const log = find(query.log);
        if (!log) return std::nullopt;
        const Commits& commits = log->commits;
        auto at = commits.find(query.checkpoint_id);
        if (query.checkpoint_id.empty()) {
            at = query.before.empty() ? commits.end() : commits.lower_bound(query.before);
            at = at == commits.begin() ? commits.end() : std::prev(at);
        }
        if (at == commits.end()) return std::nullopt;
        sg::CheckpointTuple tuple{.id = at->first,
                                  .head = commits.rbegin()->first,
                                  .commits = {},
                                  .writes = log->writesOf(at->first),
                                  .next = {}};
        const CheckpointId base = linksOf(query.log, *at).base;
        const auto behind = std::next(at);
        for (auto i = commits.lower_bound(base); i != behind; ++i) tuple.commits.push_back({i->first, i->second});
        if (behind != commits.end()) tuple.next = sg::StoredCommit{behind->first, behind->second};
        return tuple;
    }
    // [end get]

    std::vector<sg::ListedCheckpoint> list(const sg::ListQuery& query) override {
        const std::lock_guard lock(mutex_);
        std::vector<sg::ListedCheckpoint> listed;
        for (const auto& [thread_id, logs] : threads_) {
            if (query.thread_id && thread_id != *query.thread_id) continue;
            if (query.after_thread_id && thread_id <= *query.after_thread_id) continue;
            for (const auto& [ns, log] : logs) {
                if (query.checkpoint_ns && ns != *query.checkpoint_ns) continue;
                const auto end = query.before.empty() ? log.commits.end() : log.commits.lower_bound(query.before);
                for (auto row = std::make_reverse_iterator(end); row != log.commits.rend(); ++row) {
                    if (query.limit && listed.size() == *query.limit) return listed;
                    listed.push_back({thread_id, ns, row->first, row->second, {}});
                    if (query.with_writes) listed.back().writes = log.writesOf(row->first);
                    if (query.heads) break;
                }
            }
        }
        return listed;
    }

    void deleteThread(std::string_view thread_id) override {
        const std::lock_guard lock(mutex_);
        threads_.erase(std::string(thread_id));
    }

    void copyThread(std::string_view from, std::string_view to) override {
        sg::checkpoint::checkCopyTarget(to);
        const std::lock_guard lock(mutex_);
        if (threads_.contains(std::string(to))) sg::checkpoint::refuseCopy(from, to);
        if (const auto source = threads_.find(std::string(from)); source != threads_.end()) {
            threads_.emplace(to, source->second);
        }
    }

    // [begin prune]
    std::size_t prune(const sg::PruneRequest& request) override {
        const std::lock_guard lock(mutex_);
        const auto next = [this](const std::optional<std::string>& last) {
            const auto at = last ? threads_.upper_bound(*last) : threads_.begin();
            return at == threads_.end() ? std::nullopt : std::optional(at->first);
        };
        return sg::checkpoint::pruneThreads(request, next,
                                            [&](const std::string& id) { return pruneOne(id, request); });
    }
    // [end prune]

private:
    using Commits = std::map<CheckpointId, std::string>;
    struct Log {
        Commits commits;
        std::map<std::pair<CheckpointId, std::string>, std::string> writes;  // by checkpoint and path

        std::vector<sg::StoredWrite> writesOf(CheckpointId id) const {
            std::vector<sg::StoredWrite> found;
            for (auto at = writes.lower_bound({id, ""}); at != writes.end() && at->first.first == id; ++at) {
                found.push_back({at->first.second, at->second});
            }
            return found;
        }
    };
    using Logs = std::map<std::string, Log, std::less<>>;  // by namespace: the root's, "", is the first

    const Log* find(const sg::LogName& name) const {
        const auto thread = threads_.find(std::string(name.thread_id));
        if (thread == threads_.end()) return nullptr;
        const auto log = thread->second.find(std::string(name.checkpoint_ns));
        return log == thread->second.end() ? nullptr : &log->second;
    }

    static sg::RecordLinks linksOf(const sg::LogName& log, const Commits::value_type& commit) {
        return sg::readLinks({log.thread_id, log.checkpoint_ns, commit.first}, commit.second);
    }

    // [begin prune_one]
    std::size_t pruneOne(const std::string& thread_id, const sg::PruneRequest& request) {
        const auto thread = threads_.find(thread_id);
        if (thread == threads_.end()) return 0;
        sg::checkpoint::ThreadRows rows(thread_id);
        for (const auto& [ns, log] : thread->second) {
            rows.addLog(ns);
            for (const auto& [id, bytes] : log.commits) rows.addCommit(id, bytes);
            for (const auto& [key, bytes] : log.writes) rows.addWrite(key.first, key.second, bytes);
        }
        const auto read = [&](std::string_view ns, CheckpointId id) {
            return thread->second.find(ns)->second.commits.at(id);
        };
        const sg::checkpoint::ThreadPlan plan = rows.plan(request, read);
        for (const sg::checkpoint::LogPlan& each : plan.logs) {
            Log& log = thread->second.find(each.checkpoint_ns)->second;
            for (const sg::StoredCommit& commit : each.rewritten) log.commits.at(commit.id) = commit.bytes;
            for (const CheckpointId id : each.dropped) {
                log.commits.erase(id);
                std::erase_if(log.writes, [id](const auto& write) { return write.first.first == id; });
            }
            if (each.is_whole) thread->second.erase(each.checkpoint_ns);
        }
        if (plan.drops_thread || thread->second.empty()) threads_.erase(thread);
        return plan.dropped_commits;
    }
    // [end prune_one]

    std::mutex mutex_;
    std::map<std::string, Logs> threads_;
};

// [begin contract]
struct MapFactory {
    std::unique_ptr<sg::BaseCheckpointSaver> make() { return std::make_unique<MapSaver>(); }
};

}  // namespace

STATEGRAPH_SAVER_CONTRACT(MapFactory);
// [end contract]
