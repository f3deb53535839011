#include <algorithm>
#include <iterator>
#include <set>

#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>

#include "storage/saver/prune_rules.hpp"

namespace stategraph::checkpoint {

namespace {

// Returns whether a log belongs to a task that the root's log has passed.
bool isOfPastTask(std::string_view checkpoint_ns, CheckpointId root, CheckpointId root_head) noexcept {
    return livesForOneTask(checkpoint_ns) && !root.empty() && root < root_head;
}

struct Mark {
    bool wanted = false;      // whether a rule of the request keeps it
    bool linked = false;      // whether a wanted commit is read from it
    CheckpointId reach = {};  // how far back the commits that need this one reach; set only if `linked`
};

bool isWhole(const CommitLinks& commit) noexcept { return commit.base.empty() || commit.base == commit.id; }

// By namespace: the newest edit of a log that lives with the thread, by RecordLinks::around.
using InnerEdits = std::map<std::string, std::map<CheckpointId, CheckpointId>, std::less<>>;

// Returns the parent's place, or the log's size if the parent is not in it.
std::size_t parentOf(std::span<const CommitLinks> log, std::size_t place) noexcept {
    const CheckpointId parent = log[place].parent;
    if (parent.empty()) return log.size();
    if (place > 0 && log[place - 1].id == parent) return place - 1;
    const auto end = log.begin() + static_cast<std::ptrdiff_t>(place);
    const auto at =
        std::lower_bound(log.begin(), end, parent, [](const CommitLinks& c, CheckpointId id) { return c.id < id; });
    return at != end && at->id == parent ? static_cast<std::size_t>(at - log.begin()) : log.size();
}

// Finds the edits of the logs inside a log with which visits from its kept commits begin, and the commits by which
// readers find them (findVisitStart): of the edits that were made on a commit's branch the newest one counts, if it is
// newer than what the branch has left there. An edit was made on the branch if its checkpoint (`around`) is an
// ancestor.
class EditStarts {
public:
    EditStarts(const LogLinks& log, const InnerEdits& edits) : commits_(log.commits), on_way_(log.commits.size()) {
        const std::string prefix = log.checkpoint_ns.empty() ? std::string() : std::string(log.checkpoint_ns) + '|';
        for (auto at = edits.lower_bound(prefix); at != edits.end() && at->first.starts_with(prefix); ++at) {
            const std::string_view name = std::string_view(at->first).substr(prefix.size());
            if (name.find('|') != std::string_view::npos) continue;
            if (parents_.empty()) {
                for (std::size_t i = 0; i < commits_.size(); ++i) parents_.push_back(parentOf(commits_, i));
            }
            logs_.push_back({at->first, placesOf(name, at->second), std::vector<CheckpointId>(commits_.size())});
        }
    }

    // Whether a newer commit that is kept needs this one.
    bool isOnWay(std::size_t place) const noexcept { return on_way_[place]; }

    // Notes that a commit is kept. Newer commits come first.
    void keep(std::size_t place) {
        for (Log& log : logs_) {
            const auto& [left, edit, around] = log.places[place];
            if (edit.empty() || edit < left) continue;
            log.starts.push_back(edit);
            for (std::size_t at = place; at < commits_.size() && commits_[at].id > around; at = parents_[at]) {
                if (log.reached[at] && log.reached[at] <= around) break;
                log.reached[at] = around;
                on_way_[at] = true;
            }
        }
    }

    // Adds the edits to those with which visits begin.
    void moveTo(std::map<std::string, std::vector<CheckpointId>, std::less<>>& remembered) const {
        for (const Log& log : logs_) {
            auto& ids = remembered[std::string(log.ns)];
            ids.insert(ids.end(), log.starts.begin(), log.starts.end());
        }
    }

private:
    // Of a commit and one inner log.
    struct Place {
        CheckpointId left;    // what its branch has left there
        CheckpointId edit;    // the newest edit on its branch
        CheckpointId around;  // and where that was made
    };
    struct Log {
        std::string_view ns;
        std::vector<Place> places;
        std::vector<CheckpointId> reached;  // of commits on a way: how far that goes
        std::vector<CheckpointId> starts = {};
    };

    std::vector<Place> placesOf(std::string_view name, const std::map<CheckpointId, CheckpointId>& edits) const {
        std::vector<Place> places(commits_.size());
        const auto take = [&edits](CheckpointId around, Place& place) {
            const auto made = edits.find(around);
            if (made != edits.end() && made->second > place.edit) place = {place.left, made->second, around};
        };
        for (std::size_t i = 0; i < commits_.size(); ++i) {
            const CommitLinks& commit = commits_[i];
            Place& place = places[i];
            if (parents_[i] < commits_.size()) {
                place = places[parents_[i]];
            } else if (commit.parent) {  // an earlier prune has dropped the parent
                take(commit.parent, place);
            }
            const auto visit = std::ranges::find(commit.visits, name, &VisitLink::log);
            if (visit != commit.visits.end()) {
                place.left = visit->id;
            } else if (commit.has_all_visits) {
                place.left = {};
            }
            take(commit.id, place);
        }
        return places;
    }

    std::span<const CommitLinks> commits_;
    std::vector<std::size_t> parents_;
    std::vector<Log> logs_;
    std::vector<bool> on_way_;
};

std::vector<Mark> markAll(std::span<const CommitLinks> log, std::span<const CheckpointId> interrupted,
                          const PruneRequest& request, EditStarts* edits = nullptr, bool keeps_linked = true) {
    std::vector<CheckpointId> waiting(interrupted.begin(), interrupted.end());
    std::sort(waiting.begin(), waiting.end());
    std::vector<Mark> marks(log.size());

    // The newest is visited first: commits that need another one come after it in the log, so one visit decides about
    // each commit.
    for (std::size_t i = log.size(); i-- > 0;) {
        const CommitLinks& commit = log[i];
        const std::size_t newer = log.size() - 1 - i;
        const bool wanted =
            (newer == 0 && request.commits.empty()) || (request.keep_last && newer < *request.keep_last) ||
            (request.older_than && commit.id.time() >= *request.older_than) ||
            std::binary_search(waiting.begin(), waiting.end(), commit.id) || (edits != nullptr && edits->isOnWay(i));
        marks[i].wanted = wanted;
        if (edits != nullptr && (wanted || (keeps_linked && marks[i].linked))) edits->keep(i);
        if ((!wanted && !marks[i].linked) || isWhole(commit)) continue;
        CheckpointId reach = marks[i].linked ? marks[i].reach : commit.id;
        if (wanted) reach = std::min(reach, commit.base);
        if (reach >= commit.id) continue;
        const std::size_t parent = parentOf(log, i);
        if (parent == log.size()) continue;  // an earlier prune has dropped it
        Mark& mark = marks[parent];
        mark.reach = mark.linked ? std::min(mark.reach, reach) : reach;
        mark.linked = true;
    }
    return marks;
}

template <typename F>
std::vector<CheckpointId> idsWhere(std::span<const CommitLinks> log, F&& is_one) {
    std::vector<CheckpointId> ids;
    for (std::size_t i = 0; i < log.size(); ++i) {
        if (is_one(i)) ids.push_back(log[i].id);
    }
    return ids;
}

// The effect of rewriting the wanted commits, in bytes.
struct Gain {
    std::size_t grown = 0;  // of commits that were put once and are not whole, and are dropped or about to be rewritten
    std::size_t whole = 0;  // of whole commits that are dropped
};

// Returns none if nothing is to be rewritten, or cannot be, or does not pay.
std::optional<LogPlan> rewriteKept(const LogLinks& log, std::span<const Mark> marks, const PruneRequest& request,
                                   const ThreadPrune::ReadRecord& read, std::size_t& bytes_left) {
    const std::vector<CommitLinks>& commits = log.commits;
    // Commits whose parent is dropped are rewritten; later commits that stay are read from them.
    std::vector<std::size_t> to_rewrite;
    Gain gain;
    for (std::size_t i = 0; i < commits.size(); ++i) {
        if (marks[i].wanted) {
            const std::size_t parent = parentOf(commits, i);
            if (isWhole(commits[i]) || (parent < commits.size() && marks[parent].wanted)) continue;
            to_rewrite.push_back(i);
            gain.grown += commits[i].bytes;
        } else if (marks[i].linked) {
            (isWhole(commits[i]) ? gain.whole : gain.grown) += commits[i].bytes;
        }
    }
    const bool must_pay = request.rewrite == Rewrite::when_it_pays;
    if (to_rewrite.empty() || (must_pay && gain.grown < gain.whole)) return std::nullopt;

    LogPlan plan{.dropped = idsWhere(commits, [&](std::size_t i) { return !marks[i].wanted; }), .rewritten = {}};
    std::size_t left = bytes_left;
    std::size_t rewritten_bytes = 0;
    try {
        for (const std::size_t at : to_rewrite) {
            const CheckpointId base = commits[at].base;
            CheckpointTuple tuple{
                .id = commits[at].id, .head = commits.back().id, .commits = {}, .writes = {}, .next = {}};
            for (std::size_t i = at; i < commits.size(); i = parentOf(commits, i)) {
                std::string record = read(log.checkpoint_ns, commits[i].id);
                if (record.size() > left) return std::nullopt;
                left -= record.size();
                tuple.commits.push_back({commits[i].id, std::move(record)});
                if (isWhole(commits[i]) || commits[i].id <= base) break;
            }
            std::reverse(tuple.commits.begin(), tuple.commits.end());
            const LogName name{.thread_id = log.thread_id, .checkpoint_ns = log.checkpoint_ns};
            plan.rewritten.push_back({commits[at].id, request.rewriter != nullptr
                                                          ? request.rewriter->wholeCommit(name, std::move(tuple))
                                                          : wholeCommit(name, std::move(tuple))});
            rewritten_bytes += plan.rewritten.back().bytes.size();
        }
    } catch (const CorruptCheckpointError&) {
        return std::nullopt;  // readers report the damage
    }
    if (must_pay && rewritten_bytes > gain.grown + gain.whole) return std::nullopt;
    bytes_left = left;
    return plan;
}

}  // namespace

bool dropsCommits(const PruneRequest& request) noexcept {
    return request.keep_last || request.older_than || !request.commits.empty();
}

void checkPrune(const PruneRequest& request) {
    const bool has_rules = request.keep_last || request.older_than || request.threads_unused_since;
    if (request.commits.empty() ? !has_rules : has_rules || !request.thread_id) {
        throw InvalidArgumentError(
            request.commits.empty()
                ? "prune: none of keep_last, older_than, threads_unused_since and commits is given; say what may be "
                  "dropped"
                : "prune: commits that are named are dropped of one thread, by no other rule; give thread_id alone");
    }
    if (request.keep_last && *request.keep_last < 1) {
        throw InvalidArgumentError(
            "prune: keep_last is 0, but a log's newest checkpoint is never dropped; "
            "use at least 1, or deleteThread");
    }
}

std::vector<CheckpointId> droppable(std::span<const CommitLinks> log, std::span<const CheckpointId> interrupted,
                                    const PruneRequest& request) {
    checkPrune(request);
    if (!dropsCommits(request)) return {};
    const std::vector<Mark> marks = markAll(log, interrupted, request);
    return idsWhere(log, [&](std::size_t i) { return !marks[i].wanted && !marks[i].linked; });
}

bool ThreadPrune::isWaiting(const LogLinks& log, CheckpointId interrupted) const noexcept {
    const auto commit = std::lower_bound(log.commits.begin(), log.commits.end(), interrupted,
                                         [](const CommitLinks& c, CheckpointId id) { return c.id < id; });
    if (commit == log.commits.end() || commit->id != interrupted) return false;
    return commit->root.empty() || commit->root >= root_head_ ||
           std::binary_search(root_interrupted_.begin(), root_interrupted_.end(), commit->root);
}

std::vector<LogPlan> ThreadPrune::plan(std::span<const LogLinks> logs, const ReadRecord& read) {
    if (request_.commits.empty()) {
        for (const LogLinks& log : logs) noteEdits(log);
    }
    std::vector<LogPlan> plans;
    plans.reserve(logs.size());
    for (const LogLinks& log : logs) plans.push_back(planLog(log, read));
    return plans;
}

void ThreadPrune::noteEdits(const LogLinks& log) {
    for (const CommitLinks& commit : log.commits) {
        if (commit.around) edits_[std::string(log.checkpoint_ns)][*commit.around] = commit.id;
    }
}

LogPlan ThreadPrune::planLog(const LogLinks& log, const ReadRecord& read) {
    if (!dropsCommits(request_) || log.commits.empty()) return {};
    if (!request_.commits.empty()) {
        const auto named = request_.commits.find(log.checkpoint_ns);
        if (named == request_.commits.end()) return {};
        const std::set<CheckpointId> dropped(named->second.begin(), named->second.end());
        return planCommits(log, idsWhere(log.commits, [&](auto i) { return !dropped.contains(log.commits[i].id); }),
                           read);
    }
    if (log.checkpoint_ns.empty()) {
        LogPlan plan = planCommits(log, log.interrupted, read);
        root_head_ = log.commits.back().id;
        root_kept_ = idsWhere(log.commits, [&](std::size_t i) {
            return !std::binary_search(plan.dropped.begin(), plan.dropped.end(), log.commits[i].id);
        });
        root_interrupted_ = log.interrupted;
        std::sort(root_interrupted_.begin(), root_interrupted_.end());
        rememberVisits(log, plan);
        return plan;
    }

    const CheckpointId root = log.commits.back().root;
    if (isOfPastTask(log.checkpoint_ns, root, root_head_) &&
        !std::binary_search(root_kept_.begin(), root_kept_.end(), root)) {
        return {.dropped = idsWhere(log.commits, [](std::size_t) { return true; }), .rewritten = {}};
    }
    std::vector<CheckpointId> waiting;
    std::copy_if(log.interrupted.begin(), log.interrupted.end(), std::back_inserter(waiting),
                 [&](CheckpointId id) { return isWaiting(log, id); });
    addVisits(log, waiting);
    LogPlan plan = planCommits(log, waiting, read);
    rememberVisits(log, plan);
    return plan;
}

// Adds the commits of a subgraph's log with which kept checkpoints continue: what their branches have left there, or
// an edit; the newest edit that belongs to no checkpoint, because the graph around it may begin anew; and the newest
// commit of each visit that a kept checkpoint of the root's log has begun, which no commit names before its superstep
// ends.
void ThreadPrune::addVisits(const LogLinks& log, std::vector<CheckpointId>& waiting) const {
    if (const auto found = remembered_.find(log.checkpoint_ns); found != remembered_.end())
        waiting.insert(waiting.end(), found->second.begin(), found->second.end());
    if (const auto edits = edits_.find(log.checkpoint_ns); edits != edits_.end()) {
        if (const auto anew = edits->second.find({}); anew != edits->second.end()) waiting.push_back(anew->second);
    }
    std::set<CheckpointId> seen;
    for (auto commit = log.commits.rbegin(); commit != log.commits.rend(); ++commit) {
        if (commit->root.empty() || !seen.insert(commit->root).second) continue;
        if (std::binary_search(root_kept_.begin(), root_kept_.end(), commit->root)) waiting.push_back(commit->id);
    }
}

// Remembers the commits with which visits from kept checkpoints begin: for each log, the nearest one that the branch
// names, from the checkpoint backwards.
void ThreadPrune::rememberVisits(const LogLinks& log, const LogPlan& plan) {
    const std::vector<CommitLinks>& commits = log.commits;
    if (std::ranges::none_of(commits, [](const CommitLinks& commit) { return !commit.visits.empty(); })) return;
    // For each commit: the logs that the commits above it that stay have found already; none if no such commit looks
    // here.
    std::vector<std::optional<std::set<std::string_view>>> found(commits.size());
    const std::string prefix = log.checkpoint_ns.empty() ? std::string() : std::string(log.checkpoint_ns) + '|';
    for (std::size_t i = commits.size(); i-- > 0;) {
        const CommitLinks& commit = commits[i];
        if (!std::binary_search(plan.dropped.begin(), plan.dropped.end(), commit.id)) found[i].emplace();
        if (!found[i]) continue;
        for (const VisitLink& visit : commit.visits) {
            if (found[i]->insert(visit.log).second) remembered_[prefix + visit.log].push_back(visit.id);
        }
        const std::size_t parent = parentOf(commits, i);
        if (commit.has_all_visits || parent == commits.size()) continue;
        if (!found[parent]) {
            found[parent] = std::move(found[i]);
        } else {
            std::erase_if(*found[parent], [&](std::string_view name) { return !found[i]->contains(name); });
        }
        found[i].reset();
    }
}

LogPlan ThreadPrune::planCommits(const LogLinks& log, std::span<const CheckpointId> waiting, const ReadRecord& read) {
    if (request_.rewrite != Rewrite::never && read) {
        EditStarts edits(log, edits_);
        const std::vector<Mark> marks = markAll(log.commits, waiting, request_, &edits, false);
        if (auto plan = rewriteKept(log, marks, request_, read, rewrite_bytes_left_)) {
            edits.moveTo(remembered_);
            return *std::move(plan);
        }
    }
    EditStarts edits(log, edits_);
    const std::vector<Mark> marks = markAll(log.commits, waiting, request_, &edits);
    edits.moveTo(remembered_);
    return {.dropped = idsWhere(log.commits, [&](std::size_t i) { return !marks[i].wanted && !marks[i].linked; }),
            .rewritten = {}};
}

bool ThreadUse::isLeftBehind(std::string_view checkpoint_ns, CheckpointId head,
                             const RecordLinks& links) const noexcept {
    // A young log counts as used, because its commits belong to the thread too.
    return head.time() < since_ && isOfPastTask(checkpoint_ns, links.root, root_head_);
}

}  // namespace stategraph::checkpoint
