#include <stategraph/causes.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include <stategraph/graph_description.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/paths.hpp"
#include "src/commit/ids.hpp"
#include "src/reading/join_arrivals.hpp"
#include "src/reading/log_page.hpp"

namespace stategraph {
namespace {

using checkpoint::DueTask;
using checkpoint::Folded;
using checkpoint::Records;

bool has(const std::vector<std::string_view>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

// The number of forks of forks that are followed.
constexpr int forks_max = 32;

// A checkpoint with the tasks that are due at it.
struct Place {
    Folded folded;
    Records records;
    std::vector<DueTask> due;
};

std::optional<Place> readPlace(BaseCheckpointSaver& saver, const LogName& log, CheckpointId id, bool latest) {
    auto tuple = saver.getTuple({.log = log, .checkpoint_id = id});
    if (!tuple) return {};
    Place place;
    place.folded = checkpoint::fold(log, std::move(*tuple));
    place.records = checkpoint::readRecords(log, place.folded.commit.id, place.folded.tuple.writes);
    place.due = checkpoint::dueTasks(place.folded.commit, place.records, latest);
    return place;
}

// Splits "join:a+b:c" into its parts.
std::string_view targetOf(std::string_view key) { return key.substr(key.rfind(':') + 1); }
std::string_view sourcesOf(std::string_view key) {
    const std::size_t begin = key.find(':') + 1;
    return key.substr(begin, key.rfind(':') - begin);
}

class Finder {
public:
    Finder(BaseCheckpointSaver& saver, const LogName& log, const Place& at, const std::optional<Place>& before,
           const std::optional<GraphDescription>& graph)
        : saver_(saver), log_(log), at_(at), before_(before), graph_(graph) {}

    std::vector<Cause> find(const DueTask& task) const {
        std::vector<Cause> causes;
        if (task.payload) {
            causes.push_back(ofSend(task));
        } else {
            addTriggers(task.name, causes);
        }
        if (causes.empty()) causes.push_back({CauseKind::unknown, candidates()});
        return causes;
    }

private:
    const checkpoint::CommitFields& commit() const noexcept { return at_.folded.commit; }
    std::string shown(std::string_view name) const { return graph_ ? graph_->shownName(name) : std::string(name); }
    CauseTask from(const DueTask& task) const { return {shown(task.name), task.path}; }
    // Returns whether the tasks that ran just before are those of the parent.
    bool isStep() const noexcept { return commit().source == Source::loop && commit().folds == 1 && before_; }

    std::vector<CauseTask> candidates() const {
        std::vector<CauseTask> tasks;
        if (isStep()) {
            for (const DueTask& task : before_->due) tasks.push_back(from(task));
        } else if (at_.folded.ran.kind == checkpoint::FoldedRan::Kind::one) {
            tasks.push_back({shown(at_.folded.ran.node), {}});
        }
        return tasks;
    }

    void addTriggers(const std::string& name, std::vector<Cause>& causes) const {
        const auto* const command = checkpoint::findRecord(at_.records, checkpoint::command_path);
        if (command != nullptr && has(command->to, name) && !has(commit().next, name)) {
            causes.push_back({CauseKind::command, {}});
            return;
        }
        if (name == "__start__") {
            causes.push_back({CauseKind::input, {}});
            return;
        }
        if (commit().source == Source::update) {
            causes.push_back({CauseKind::edit, candidates()});
            return;
        }
        addJoins(name, causes);
        const bool by_edge = !commit().edges || has(*commit().edges, name);
        if (by_edge && isStep()) addEdges(name, causes);
        if (!by_edge && isReleased(name)) causes.push_back({CauseKind::released, {}});
    }

    void addJoins(const std::string& name, std::vector<Cause>& causes) const {
        for (const auto& join : at_.folded.joins) {
            if (targetOf(join.key) != name || !isFull(join)) continue;
            Cause cause{CauseKind::join, {}};
            const auto steps = arrivalsOf(join);
            for (std::size_t i = 0; i < join.arrived.size(); ++i)
                cause.from.push_back({shown(join.arrived[i]), pathOf(join.arrived[i]), steps[i]});
            causes.push_back(std::move(cause));
        }
    }

    // Most joins fire in the superstep in which all sources ran. In that case no other checkpoint is read.
    std::vector<std::optional<std::int64_t>> arrivalsOf(const checkpoint::FoldedJoin& join) const {
        const auto had_some = [&] {
            const auto& joins = before_->folded.joins;
            return std::ranges::find(joins, join.key, &checkpoint::FoldedJoin::key) != joins.end();
        };
        if (isStep() && !had_some()) return {join.arrived.size(), commit().step};
        return reading::joinArrivals(saver_, log_, commit().id, join);
    }

    static bool isFull(const checkpoint::FoldedJoin& join) {
        std::string arrived;
        for (const auto source : join.arrived) {
            if (!arrived.empty()) arrived += '+';
            arrived += source;
        }
        return arrived == sourcesOf(join.key);
    }

    // Returns the path of a task that ran just before.
    std::string pathOf(std::string_view name) const {
        if (!isStep()) return {};
        const auto found = std::ranges::find(before_->due, name, &DueTask::name);
        return found == before_->due.end() ? std::string() : found->path;
    }

    bool isReleased(std::string_view name) const {
        return std::ranges::any_of(at_.folded.deferred, [&](const auto& deferral) {
            return deferral.key == name && deferral.state == checkpoint::Deferral::released;
        });
    }

    void addEdges(const std::string& name, std::vector<Cause>& causes) const {
        for (const DueTask& task : before_->due) {
            const auto add = [&](CauseKind kind) { causes.push_back({kind, {from(task)}}); };
            const bool is_static = graph_ && hasEdge(task.name, name);
            if (is_static) add(CauseKind::edge);
            if (task.record != nullptr && has(task.record->to, name)) {
                add(routeKind(task.name, name));
            } else if (!is_static && graph_ && before_->due.size() == 1) {
                add(routeKind(task.name, name));  // the only task of a superstep has no record
            }
        }
    }

    bool hasEdge(std::string_view from, std::string_view to) const {
        return std::ranges::any_of(
            graph_->edges, [&](const DescribedEdge& edge) { return edge.from == shown(from) && edge.to == shown(to); });
    }

    CauseKind routeKind(std::string_view from, std::string_view to) const {
        if (!graph_) return CauseKind::route;
        const auto leads = [&](const auto& ends) {
            return std::ranges::any_of(ends, [&](const DescribedEnd& end) { return end.to == shown(to); });
        };
        const bool by_router = std::ranges::any_of(graph_->branches, [&](const DescribedBranch& branch) {
            return branch.from == shown(from) && (!branch.ends || leads(*branch.ends));
        });
        const bool has_router = std::ranges::any_of(
            graph_->branches, [&](const DescribedBranch& branch) { return branch.from == shown(from); });
        const bool by_command = std::ranges::any_of(graph_->gotos, [&](const DescribedGoto& each) {
            return each.from == shown(from) && std::ranges::find(each.to, shown(to)) != each.to.end();
        });
        if (by_router && !by_command) return CauseKind::router;
        return by_command && !by_router ? CauseKind::go_to : has_router ? CauseKind::route : CauseKind::go_to;
    }

    // Sends are in the order of the tasks that created them.
    Cause ofSend(const DueTask& task) const {
        std::size_t index = indexOf(task.path);
        if (index >= commit().sends.size()) return {CauseKind::command, {}, index - commit().sends.size()};
        if (commit().source == Source::update) return {CauseKind::edit, candidates()};
        if (!isStep()) return {CauseKind::unknown, candidates()};
        if (before_->due.size() == 1) return {CauseKind::send, {from(before_->due.front())}, index};
        for (const DueTask& sender : before_->due) {
            if (sender.record == nullptr) break;
            if (index < sender.record->sends.size()) return {CauseKind::send, {from(sender)}, index};
            index -= sender.record->sends.size();
        }
        return {CauseKind::unknown, candidates()};
    }

    std::size_t indexOf(std::string_view path) const noexcept {
        std::size_t index = 0;
        for (const char c : path) index = c >= '0' && c <= '9' ? index * 10 + static_cast<std::size_t>(c - '0') : 0;
        return index;
    }

    BaseCheckpointSaver& saver_;
    const LogName& log_;
    const Place& at_;
    const std::optional<Place>& before_;
    const std::optional<GraphDescription>& graph_;
};

std::vector<TaskCauses> readAt(BaseCheckpointSaver& saver, const LogName& log, CheckpointId id, int forks) {
    const auto at = readPlace(saver, log, id, id.empty());
    if (!at) return {};
    const auto& commit = at->folded.commit;
    const auto before = commit.parent ? readPlace(saver, log, commit.parent, true) : std::optional<Place>();
    const auto graph = readGraph(saver, GraphFingerprint{at->folded.graph, at->folded.schema});
    std::vector<TaskCauses> forked;
    if (commit.source == Source::fork && before && forks < forks_max)
        forked = readAt(saver, log, commit.parent, forks + 1);
    const Finder finder(saver, log, *at, before, graph);
    std::vector<TaskCauses> tasks;
    for (const DueTask& task : at->due) {
        TaskCauses found{
            .id = engine::makeTaskId({commit.id, log.checkpoint_ns, commit.step + 1, task.name, task.path}),
            .name = graph ? graph->shownName(task.name) : task.name,
            .path = task.path,
            .causes = {}};
        const auto same = std::ranges::find(forked, task.path, &TaskCauses::path);
        if (commit.source == Source::fork) {
            found.causes.push_back({CauseKind::fork, {}});
            if (same != forked.end()) found.causes.insert(found.causes.end(), same->causes.begin(), same->causes.end());
        } else {
            found.causes = finder.find(task);
        }
        tasks.push_back(std::move(found));
    }
    return tasks;
}

}  // namespace

const char* toString(CauseKind kind) noexcept {
    switch (kind) {
        case CauseKind::input:
            return "input";
        case CauseKind::edge:
            return "edge";
        case CauseKind::join:
            return "join";
        case CauseKind::router:
            return "router";
        case CauseKind::go_to:
            return "goto";
        case CauseKind::route:
            return "route";
        case CauseKind::send:
            return "send";
        case CauseKind::released:
            return "released";
        case CauseKind::command:
            return "command";
        case CauseKind::edit:
            return "edit";
        case CauseKind::fork:
            return "fork";
        case CauseKind::unknown:
            return "unknown";
    }
    return "?";
}

std::vector<TaskCauses> readCauses(BaseCheckpointSaver& saver, const Config& config) {
    reading::requireThread(config, "readCauses");
    return reading::named(config, [&] { return readAt(saver, reading::logOf(config), config.checkpoint_id, 0); });
}

}  // namespace stategraph
