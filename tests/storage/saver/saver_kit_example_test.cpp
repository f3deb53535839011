// A minimal saver on std::map, and its tests. docs/savers.md explains it.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
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
        const CheckpointId head = log && !log->commits.empty() ? log->commits.rbegin()->first : CheckpointId();
        if (head != request.expected_head) sg::checkpoint::refuseHead(request.log, request.expected_head, head);
        if (request.root) {
            const Log* const root = find({request.log.thread_id});
            if (!root || !root->commits.contains(request.root)) sg::checkpoint::refuseRoot(request);
        }
        for (const std::span<const sg::WriteRow> rows : {request.compared, request.writes}) {
            for (const auto& row : rows) {
                std::optional<std::string_view> stored;
                if (const auto key = std::pair(row.checkpoint_id, std::string(row.path));
                    log && log->writes.contains(key)) {
                    stored = log->writes.at(key);
                }
                sg::checkpoint::checkExpected(request.log, row, stored);
            }
        }
        sg::checkpoint::checkAncestors(request,
                                       [log](CheckpointId id) { return log != nullptr && log->commits.contains(id); });
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

    std::size_t prune(const sg::PruneRequest& request) override {
        sg::checkpoint::checkPrune(request);
        const std::lock_guard lock(mutex_);
        std::size_t dropped = 0;
        for (auto& [thread_id, logs] : threads_) {
            if (request.thread_id && thread_id != *request.thread_id) continue;
            dropped += pruneThread(thread_id, logs, request);
        }
        std::erase_if(threads_, [](const auto& thread) { return thread.second.empty(); });
        return dropped;
    }

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

    static std::vector<CheckpointId> interruptedIn(const sg::LogName& name, const Log& log) {
        std::vector<CheckpointId> interrupted;
        for (const auto& [key, bytes] : log.writes) {
            const sg::RowKey row{name.thread_id, name.checkpoint_ns, key.first, key.second};
            if (sg::hasOpenInterrupt(row, bytes)) interrupted.push_back(key.first);
        }
        return interrupted;
    }

    static std::size_t pruneThread(std::string_view thread_id, Logs& logs, const sg::PruneRequest& request) {
        std::size_t dropped = 0;
        if (request.threads_unused_since) {
            sg::checkpoint::ThreadUse use(*request.threads_unused_since);
            for (const auto& [ns, log] : logs) {
                if (log.commits.empty()) continue;
                const sg::LogName name{thread_id, ns};
                dropped += log.commits.size();
                use.add(ns, log.commits.rbegin()->first, linksOf(name, *log.commits.rbegin()),
                        [&] { return !interruptedIn(name, log).empty(); });
            }
            if (!use.isUsed()) {
                logs.clear();
                return dropped;
            }
            dropped = 0;
        }
        std::vector<sg::checkpoint::LogLinks> all;
        for (const auto& [ns, log] : logs) {
            const sg::LogName name{thread_id, ns};
            sg::checkpoint::LogLinks links{.checkpoint_ns = ns, .commits = {}, .interrupted = interruptedIn(name, log)};
            for (const auto& commit : log.commits) {
                const sg::RecordLinks record = linksOf(name, commit);
                links.commits.push_back({.id = commit.first,
                                         .parent = record.parent,
                                         .base = record.base,
                                         .root = record.root,
                                         .bytes = commit.second.size(),
                                         .visits = record.visits,
                                         .has_all_visits = record.has_all_visits,
                                         .around = record.around});
            }
            if (!links.commits.empty()) all.push_back(std::move(links));
        }
        const auto read = [&logs](std::string_view ns, CheckpointId id) {
            return logs.find(ns)->second.commits.at(id);
        };
        const std::vector<sg::checkpoint::LogPlan> plans = sg::checkpoint::ThreadPrune(request).plan(all, read);
        for (std::size_t i = 0; i < plans.size(); ++i) {
            const sg::checkpoint::LogPlan& plan = plans[i];
            const std::vector<CheckpointId>& ids = plan.dropped;
            Log& log = logs.find(all[i].checkpoint_ns)->second;
            const bool is_whole = ids.size() == log.commits.size();
            for (const CheckpointId id : ids) log.commits.erase(id);
            for (const sg::StoredCommit& commit : plan.rewritten) log.commits.at(commit.id) = commit.bytes;
            std::erase_if(log.writes, [&](const auto& write) {
                return (is_whole && !ids.empty()) || std::binary_search(ids.begin(), ids.end(), write.first.first);
            });
            dropped += ids.size();
        }
        std::erase_if(logs, [](const auto& log) { return log.second.commits.empty() && log.second.writes.empty(); });
        return dropped;
    }

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
