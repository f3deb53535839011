#include "src/graph/validate.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <stategraph/command.hpp>
#include <stategraph/detail/utf8.hpp>

#include "src/graph/join_names.hpp"
#include "src/graph/names.hpp"
#include "src/graph/node_faults.hpp"
#include "src/graph/policies.hpp"
#include "src/graph/reachability.hpp"
#include "src/graph/sharing.hpp"

namespace stategraph::engine {
namespace {

using detail::BranchSpec;
using detail::EdgeSpec;
using detail::NodeSpec;
using Names = std::vector<std::string_view>;

constexpr std::size_t most_nodes = 65'000;
constexpr std::size_t most_channels = 65'000;

std::string edgeText(const EdgeSpec& edge) {
    if (!isJoin(edge))
        return "edge from " + inQuotes(edge.from.empty() ? "" : edge.from.front()) + " to " + inQuotes(edge.to);
    return "join of " + quotedList(distinctSources(edge)) + " into " + inQuotes(edge.to);
}

// An unknown name is replaced by the node name that it was probably meant to be, so that one mistake does not make
// every node after it look unreachable.
class Validator {
public:
    Validator(const detail::GraphSpec& graph, const CompileOptions& options) : graph_(graph), options_(options) {
        addVertex(START);
        addVertex(END);
        for (const auto& node : graph_.nodes) addVertex(node.name);
    }

    std::vector<std::string> run() {
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            for (const std::string& each : nodeFaults(graph_, i)) fault(each);
        }
        checkDuplicateNodes();
        checkStoredNames();
        for (const auto& edge : graph_.edges) checkEdge(edge);
        checkJoinKeys();
        for (const auto& branch : graph_.branches) checkBranch(branch);
        for (const auto& node : graph_.nodes) checkEnds(node);
        checkRetry(graph_.default_retry, "the node defaults: retry.");
        if (options_.recursion_limit.value_or(1) < 1) {
            fault("CompileOptions::recursion_limit is " + std::to_string(*options_.recursion_limit) +
                  ", but must be at least 1; leave it out for the usual 25");
        }
        checkHandlers();
        if (!options_.checkpointer.logKey().empty() &&
            options_.checkpointer.logKey().state != graph_.state->state().type) {
            fault("perThread: the key takes another type than this graph's state; let it take the state");
        }
        if (!has_entry_) {
            fault(
                "the graph has no entry: add an edge or a conditional edge from sg::START to the node that runs first");
        }
        for (const auto& node : graph_.nodes) checkInput(node);
        checkInterrupts(options_.interrupt_before.names(), "interrupt_before");
        checkInterrupts(options_.interrupt_after.names(), "interrupt_after");
        checkPaths();
        return std::move(faults_);
    }

private:
    using Vertex = std::uint32_t;
    static constexpr Vertex start_vertex = 0;
    static constexpr Vertex end_vertex = 1;

    // Equal faults, as of two equal edges, are reported once.
    void fault(const std::string& text) {
        if (said_.insert(text).second) faults_.push_back(text);
    }

    void addVertex(std::string_view name) {
        if (vertices_.emplace(name, static_cast<Vertex>(names_.size())).second) names_.push_back(name);
    }

    // Returns the vertex with this name. If there is none, adds a fault and returns the vertex that was probably meant.
    std::optional<Vertex> resolve(std::string_view name, const std::string& where) {
        if (const auto found = vertices_.find(name); found != vertices_.end()) return found->second;
        const auto closest = closestName(name, names_);
        fault(where + ": there is no node " + inQuotes(name) + "; " + adviceOn(name, names_));
        return closest ? std::optional(vertices_.at(*closest)) : std::nullopt;
    }

    std::optional<Vertex> resolveSource(std::string_view name, const std::string& where) {
        if (name == END) {
            fault(where + ": nothing follows __end__; name another source");
            return std::nullopt;
        }
        const auto source = resolve(name, where);
        if (source == start_vertex) has_entry_ = true;
        return source;
    }

    std::optional<Vertex> resolveTarget(std::string_view name, const std::string& where) {
        if (name != START) return resolve(name, where);
        fault(where + ": nothing can lead to __start__; name the node that should run instead");
        return std::nullopt;
    }

    // An unknown name at one end is not counted as a fault of the other end.
    void connect(std::optional<Vertex> from, std::optional<Vertex> to) {
        if (from && to) {
            arcs_.push_back({*from, *to});
        } else if (from) {
            exits_.push_back(*from);
        } else if (to) {
            roots_.push_back(*to);
        }
    }

    // Adds a path that is taken only after a failure. It makes nodes reachable, but does not count as an edge of the
    // failing node.
    void connectFailure(Vertex from, std::optional<Vertex> to) {
        if (to) failure_arcs_.push_back({from, *to});
    }

    void checkRetry(const RetryPolicy& retry, const std::string& where) {
        for (const std::string& each : faultsOf(retry, where)) fault(each);
    }

    void checkHandlers() {
        std::set<std::string_view> handled;
        for (const auto& handler : graph_.handlers) {
            const bool for_all = handler.node == "*";
            const std::string where = for_all ? std::string("the error handler of all nodes")
                                              : "error handler of node " + inQuotes(handler.node);
            if (!handled.insert(handler.node).second) fault(where + ": there are two; keep one");
            if (handler.action.call == nullptr) fault(where + " has no function; add it with one");
            const auto* input = &handler.action.input;
            const bool takes_state = input->type == graph_.state->state().type;
            if (for_all) {
                if (!takes_state) fault(where + " must take the state, whatever the nodes take");
                if (handler.ends) {
                    for (const auto& name : *handler.ends) {
                        for (const auto& node : graph_.nodes) {
                            if (handlerOf(node, graph_) == &handler)
                                connectFailure(vertices_.at(node.name), resolveTarget(name, "ends of " + where));
                        }
                    }
                }
                continue;
            }
            if (handler.node == START || handler.node == END) {
                fault(where + ": it is not a node that could fail; name a node, or \"*\" for all");
                continue;
            }
            const auto vertex = resolve(handler.node, where);
            if (!vertex) continue;
            exits_.push_back(*vertex);  // a router may end the run here
            for (const auto& node : graph_.nodes) {
                if (node.name == handler.node && !takes_state && !takesInputOf(node, *input)) {
                    fault(where + " takes neither the state nor what the node takes; let it take one of them");
                }
            }
            if (!handler.ends) continue;
            for (const auto& name : *handler.ends) connectFailure(*vertex, resolveTarget(name, "ends of " + where));
        }
    }

    void checkDuplicateNodes() {
        std::map<std::string_view, std::size_t> counts;
        for (const auto& node : graph_.nodes) ++counts[node.name];
        for (const auto& [name, count] : counts) {
            if (count == 1) continue;
            fault("node " + inQuotes(name) + " was added " + std::to_string(count) +
                  " times; give each node a name of its own");
        }
    }

    // The log must be able to distinguish nodes, and people must be able to read the names in it.
    void checkStoredNames() {
        std::map<std::string_view, const NodeSpec*> stored;
        for (const auto& node : graph_.nodes) {
            if (node.stored_as.empty()) continue;
            const std::string where = "node " + inQuotes(node.name) + ": stored_as is " + inQuotes(node.stored_as);
            const std::string_view name = node.stored_as;
            if (name.starts_with("__") || name == "*" || name.find_first_of("|:") != std::string_view::npos ||
                !detail::isUtf8(name)) {
                fault(where +
                      ", which no node can ever have been called; give the name it had when threads were first stored");
            }
            const auto [same, added] = stored.emplace(name, &node);
            if (!added) {
                fault("nodes " + inQuotes(same->second->name) + " and " + inQuotes(node.name) + " are both stored as " +
                      inQuotes(name) + "; a thread continues with one of them: take stored_as away from the other");
            }
            const auto other = vertices_.find(name);
            if (name != node.name && other != vertices_.end() && other->second > end_vertex) {
                fault(where +
                      ", and another node has that name; its threads could not be told apart: choose another name for "
                      "that node");
            }
        }
    }

    void checkEdge(const EdgeSpec& edge) {
        const std::string where = edgeText(edge);
        const auto to = resolveTarget(edge.to, where);
        if (edge.from.empty()) {
            fault("an edge to " + inQuotes(edge.to) + " has no source; name one");
            connect(std::nullopt, to);
        }
        if (to) static_targets_.emplace(names_[*to], where);
        for (const auto source : distinctSources(edge)) {
            const auto from = resolveSource(source, where);
            if (from) leads_on_.insert(*from);
            connect(from, to);
        }
    }

    // The log knows a join by its key, and '+' may be part of a name.
    void checkJoinKeys() {
        std::map<std::string, Names> joins;
        const StoredNames stored(graph_);
        for (const auto& edge : graph_.edges) {
            if (!isJoin(edge)) continue;
            const Names sources = distinctSources(edge);
            const auto [same, added] = joins.emplace(joinKey(edge, stored), sources);
            if (added || same->second == sources) continue;
            fault("the joins of " + quotedList(same->second) + " and of " + quotedList(sources) + " into " +
                  inQuotes(edge.to) + " cannot be told apart in a checkpoint; take the '+' out of a node's name");
        }
    }

    void checkBranch(const BranchSpec& branch) {
        const std::string where = "conditional edge from " + inQuotes(branch.from);
        const auto from = resolveSource(branch.from, where);
        if (from) leads_on_.insert(*from);
        if (branch.router.call == nullptr) fault(where + " has no function; add it with one");
        if (!branch.ends) {
            has_open_branch_ = true;
            if (from) exits_.push_back(*from);
            return;
        }
        std::map<std::string_view, std::string_view> targets;
        for (const auto& [label, name] : *branch.ends) {
            const auto [same, added] = targets.emplace(label, name);
            if (!added && same->second != name) {
                fault(where + ": its end " + inQuotes(label) + " leads both to " + inQuotes(same->second) + " and to " +
                      inQuotes(name) + "; give each its own label");
            }
            const auto to = resolveTarget(name, where);
            connect(from, to);
        }
    }

    void checkEnds(const NodeSpec& node) {
        if (!node.ends.isGiven()) return;
        const std::string where = "ends of node " + inQuotes(node.name);
        for (const auto& name : node.ends.names()) {
            const auto to = resolveTarget(name, where);
            connect(vertices_.at(node.name), to);
        }
    }

    void checkInput(const NodeSpec& node) {
        const std::string name = "node " + inQuotes(node.name);
        const auto edge = static_targets_.find(node.name);
        const InputMatch match = matchInput(node, *graph_.state);
        if (match.kind == InputKind::payload && edge != static_targets_.end()) {
            fault(name + " takes a payload and can only be reached by a Send; take away the " + edge->second +
                  ", or let the node take the state or a part of it");
        }
        if (match.kind == InputKind::no_part && edge != static_targets_.end()) {
            std::string missing;
            for (const auto& each : match.missing) missing += (missing.empty() ? "" : ", ") + each;
            fault(name + " takes an input that is not a part of the state (" + missing +
                  "), so only a Send can reach it, but the " + edge->second +
                  " leads to it; match the channels' names and types");
        }
        if (!node.subgraph) return;
        for (const auto& channel : matchSubgraph(*node.subgraph, *graph_.state).clashes) {
            fault(name + ": channel " + inQuotes(channel) +
                  " is of one type in the state and of another in the subgraph; make them the same, or add the "
                  "subgraph with "
                  "two functions that map the state");
        }
    }

    void checkInterrupts(const std::vector<std::string>& names, const std::string& option) {
        for (const auto& name : names) {
            if (name == "*") continue;
            if (name == START || name == END) {
                fault(option + ": " + name + " is not a node that could be interrupted; name a node, or \"*\" for all");
            } else {
                resolve(name, option);
            }
        }
    }

    void checkPaths() {
        std::vector<bool> has_arc(names_.size());
        for (const Arc& arc : arcs_) has_arc[arc.from] = true;
        arcs_.insert(arcs_.end(), failure_arcs_.begin(), failure_arcs_.end());
        exits_.push_back(end_vertex);
        for (const auto& node : graph_.nodes) {
            // A Command without a goto leads nowhere; the node's own edges still fire.
            const Vertex v = vertices_.at(node.name);
            if (node.action.gives_commands && !leads_on_.contains(v)) exits_.push_back(v);
        }
        for (Vertex v = 0; v < names_.size(); ++v) {
            if (!has_arc[v]) exits_.push_back(v);
        }
        roots_.push_back(start_vertex);
        const Reachability paths = analyse(static_cast<Vertex>(names_.size()), arcs_, roots_, exits_);
        // A router without declared ends may lead anywhere, and without an entry no node is reachable anyway.
        if (has_entry_ && !has_open_branch_) {
            for (Vertex v = end_vertex + 1; v < names_.size(); ++v) {
                if (paths.from_roots[v]) continue;
                fault("node " + inQuotes(names_[v]) +
                      " cannot be reached from __start__; add an edge to it; if a Command or a "
                      "Send goes there, declare it with .ends at the node that returns it");
            }
        }
        std::vector<bool> reported(names_.size());
        for (const auto& cycle : paths.dead_cycles) {
            Names members;
            for (const Vertex v : cycle) {
                members.push_back(names_[v]);
                reported[v] = true;
            }
            std::ranges::sort(members);
            fault(members.size() == 1
                      ? "node " + inQuotes(members.front()) + " leads to itself and can never reach an end" +
                            exitAdvice()
                      : "nodes " + quotedList(members) + " form a cycle and can never reach an end" + exitAdvice());
        }
        for (Vertex v = end_vertex + 1; v < names_.size(); ++v) {
            if (paths.to_exits[v] || reported[v]) continue;
            fault("node " + inQuotes(names_[v]) + " can never reach an end: everything after it is a cycle" +
                  exitAdvice());
        }
    }

    static const char* exitAdvice() {
        return "; add an edge or a conditional edge that leaves it; if a Command leaves it, declare that with .ends";
    }

    const detail::GraphSpec& graph_;
    const CompileOptions& options_;
    std::vector<std::string> faults_;
    std::unordered_set<std::string> said_;
    Names names_;  // by vertex: __start__, __end__, then each node's name once
    std::unordered_map<std::string_view, Vertex> vertices_;
    std::vector<Arc> arcs_;
    std::vector<Arc> failure_arcs_;
    std::vector<Vertex> roots_;
    std::vector<Vertex> exits_;
    // By node: one edge or declaration that leads to it.
    std::map<std::string_view, std::string> static_targets_;
    std::unordered_set<Vertex> leads_on_;  // sources of edges and routers
    bool has_entry_ = false;
    bool has_open_branch_ = false;
};

}  // namespace

std::vector<std::string> validate(const detail::GraphSpec& graph, const CompileOptions& options) {
    // Beyond these limits indexes do not fit, so no other fault is reported.
    std::vector<std::string> faults;
    const auto limit = [&](const char* what, std::size_t count, std::size_t most) {
        if (count <= most) return;
        faults.push_back("the graph has " + std::to_string(count) + ' ' + what + ", but " + std::to_string(most) +
                         " are the most; split it into subgraphs");
    };
    limit("nodes", graph.nodes.size(), most_nodes);
    limit("channels", graph.state->size(), most_channels);
    if (!faults.empty()) return faults;
    return Validator(graph, options).run();
}

}  // namespace stategraph::engine
