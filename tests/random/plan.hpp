#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Random graphs as data that can be printed, shrunk and built.
namespace random_graph {

/// Gives the same numbers on every platform (SplitMix64).
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E37'79B9'7F4A'7C15);
        z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
        z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t end) { return static_cast<std::size_t>(next() % end); }
    bool chance(unsigned percent) { return below(100) < percent; }
    template <class T>
    const T& oneOf(const std::vector<T>& all) {
        return all[below(all.size())];
    }

private:
    std::uint64_t state_;
};

enum class Kind : std::uint8_t { blocking, coroutine, worker, subgraph };
enum class Memory : std::uint8_t { fresh, per_thread, keyed, none };

/// One node: what it does besides its writes, and where it leads.
struct NodePlan {
    std::string name;
    Kind kind = Kind::blocking;
    bool by_command = false;  // it names its targets itself, without a router
    bool is_deferred = false;
    bool is_handled = false;  // it always fails, and its error handler makes the result
    bool has_effect = false;  // it uses Runtime::once
    bool has_limit = false;   // it has a timeout of its own, which is never reached
    bool to_parent = false;   // in a subgraph: its Command is for the outer graph
    int questions = 0;
    int failing_attempts = 0;          // how many attempts fail before one succeeds
    int naps = 0;                      // only for coroutines
    std::vector<std::size_t> edges;    // targets that it always leads to
    std::vector<std::size_t> choices;  // of these, the state selects some
    std::optional<std::size_t> back;   // the target instead of the choices until it has run `laps` times
    int laps = 0;
    std::optional<std::size_t> worker;  // the target of one to three Sends
    Memory memory = Memory::fresh;      // only for subgraphs
    std::size_t inner = 0;              // the index of its graph
};

struct JoinPlan {
    std::vector<std::size_t> from;
    std::size_t to = 0;
};

struct GraphPlan {
    std::vector<NodePlan> nodes;
    std::vector<std::size_t> entries;
    std::vector<JoinPlan> joins;
    std::vector<GraphPlan> inner;
};

inline std::string toText(const GraphPlan& plan, const std::string& indent = "") {
    static constexpr const char* kinds[] = {"blocking", "coroutine", "worker", "subgraph"};
    static constexpr const char* memories[] = {"fresh", "per thread", "keyed", "none"};
    std::ostringstream out;
    const auto list = [&](const char* what, const std::vector<std::size_t>& nodes) {
        if (nodes.empty()) return;
        out << ' ' << what;
        for (const std::size_t node : nodes) out << ' ' << plan.nodes[node].name;
    };
    out << indent << "start:";
    list("->", plan.entries);
    out << '\n';
    for (const NodePlan& node : plan.nodes) {
        out << indent << node.name << ": " << kinds[static_cast<int>(node.kind)];
        if (node.by_command) out << " command";
        if (node.is_deferred) out << " deferred";
        if (node.is_handled) out << " handled";
        if (node.has_effect) out << " effect";
        if (node.has_limit) out << " limit";
        if (node.to_parent) out << " parent";
        if (node.questions > 0) out << " questions=" << node.questions;
        if (node.failing_attempts > 0) out << " fails=" << node.failing_attempts;
        if (node.naps > 0) out << " naps=" << node.naps;
        list("->", node.edges);
        list("?>", node.choices);
        if (node.back) out << " back(" << node.laps << ") " << plan.nodes[*node.back].name;
        if (node.worker) out << " sends " << plan.nodes[*node.worker].name;
        out << '\n';
        if (node.kind != Kind::subgraph) continue;
        out << indent << "  memory: " << memories[static_cast<int>(node.memory)] << '\n';
        out << toText(plan.inner[node.inner], indent + "  ");
    }
    for (const JoinPlan& join : plan.joins) {
        out << indent << "join:";
        for (const std::size_t node : join.from) out << ' ' << plan.nodes[node].name;
        out << " => " << plan.nodes[join.to].name << '\n';
    }
    return std::move(out).str();
}

/// Makes plans. Edges lead forward; a node that leads back does so only a few times, so every graph ends.
class Planner {
public:
    explicit Planner(Random& random) : random_(random) {}

    /// `forgets` says that the node is inside a graph without a log. A pause runs such a graph again from its
    /// beginning, which a graph inside it that remembers counts as another visit.
    GraphPlan make(int depth = 0, const std::string& prefix = "", bool forgets = false) {
        GraphPlan plan;
        const std::size_t count = depth == 0 ? 3 + random_.below(6) : 1 + random_.below(4);
        for (std::size_t i = 0; i < count; ++i) plan.nodes.push_back(node(plan, i, depth, prefix, forgets));
        plan.entries = {0};
        for (std::size_t i = 1; i < count; ++i) connect(plan, i);
        for (std::size_t i = 0; i < count; ++i) addWays(plan, i);
        if (depth > 0 && random_.chance(15)) toParent(plan);
        return plan;
    }

private:
    NodePlan node(GraphPlan& plan, std::size_t number, int depth, const std::string& prefix, bool forgets) {
        NodePlan made;
        // Names do not follow the order of the edges, because tasks are ordered by name.
        made.name = prefix + static_cast<char>('a' + random_.below(26)) + std::to_string(number);
        const std::size_t kind = random_.below(100);
        if (number > 0 && kind < 15) {
            made.kind = Kind::worker;
        } else if (depth < 2 && kind < (depth == 0 ? 35 : 22)) {
            made.kind = Kind::subgraph;
            made.memory = static_cast<Memory>(random_.below(4));
            if (forgets) made.memory = made.memory == Memory::none ? Memory::none : Memory::fresh;
            made.inner = plan.inner.size();
            plan.inner.push_back(make(depth + 1, made.name + ".", forgets || made.memory == Memory::none));
            return made;
        } else if (kind < 70) {
            made.kind = Kind::coroutine;
            made.naps = static_cast<int>(random_.below(3));
        }
        made.by_command = random_.chance(30);
        made.is_deferred = made.kind != Kind::worker && number > 0 && random_.chance(12);
        made.is_handled = made.kind != Kind::worker && random_.chance(8);
        made.has_effect = random_.chance(20);
        made.has_limit = random_.chance(8);
        if (random_.chance(25)) made.questions = 1 + static_cast<int>(random_.below(2));
        if (random_.chance(15)) made.failing_attempts = 1 + static_cast<int>(random_.below(2));
        return made;
    }

    /// Makes the node reachable.
    void connect(GraphPlan& plan, std::size_t number) {
        if (plan.nodes[number].kind == Kind::worker) {
            std::size_t from = random_.below(number);
            while (plan.nodes[from].kind == Kind::worker) from = from == 0 ? 0 : from - 1;
            if (plan.nodes[from].worker) {
                plan.nodes[number].kind = Kind::blocking;  // another node already sends to it
            } else {
                plan.nodes[from].worker = number;
                return;
            }
        }
        if (number > 2 && random_.chance(25)) {
            JoinPlan join{.from = {random_.below(number)}, .to = number};
            const std::size_t other = random_.below(number);
            if (other != join.from[0]) join.from.push_back(other);
            if (join.from.size() == 2) {
                plan.joins.push_back(join);
                return;
            }
        }
        if (random_.chance(10)) {
            plan.entries.push_back(number);
            return;
        }
        NodePlan& from = plan.nodes[random_.below(number)];
        (random_.chance(60) ? from.edges : from.choices).push_back(number);
    }

    void addWays(GraphPlan& plan, std::size_t number) {
        NodePlan& node = plan.nodes[number];
        const std::size_t count = plan.nodes.size();
        if (number + 1 < count && random_.chance(30)) {
            const std::size_t to = number + 1 + random_.below(count - number - 1);
            if (plan.nodes[to].kind != Kind::worker) node.choices.push_back(to);
        }
        // Only a node that counts its visits may lead back.
        if (!random_.chance(20) || node.kind == Kind::worker) return;
        if (node.kind == Kind::subgraph && plan.inner[node.inner].nodes.back().to_parent) return;
        const std::size_t to = random_.below(number + 1);
        if (plan.nodes[to].kind == Kind::worker) return;
        node.back = to;
        node.laps = 2 + static_cast<int>(random_.below(2));
    }

    void toParent(GraphPlan& plan) {
        NodePlan& last = plan.nodes.back();
        if (last.kind == Kind::subgraph || last.kind == Kind::worker || last.is_handled) return;
        last.by_command = true;
        last.to_parent = true;
        last.back = {};
    }

    Random& random_;
};

}  // namespace random_graph
