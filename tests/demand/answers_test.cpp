#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/control.hpp>

#include "tests/support/drivers.hpp"
#include "tests/support/graphs.hpp"

// Random graphs that ask, fail once, and have subgraphs, Sends and edges between them. Whatever is answered, in any
// rounds, by any driver and process, they end as they would without questions, and nothing that finished runs again.
using namespace graphs;

namespace {

/// One node of a random graph, and its content.
struct Plan {
    std::string name;
    std::vector<Plan> inner = {};                 // of a subgraph
    std::vector<std::pair<int, int>> edges = {};  // between them
    int questions = 0;
    int sends = 0;  // so many Sends from START lead here instead of an edge
    bool fails = false;
    bool fails_late = false;
    bool per_thread = false;
};

class Planner {
public:
    explicit Planner(unsigned seed) : random_(seed) {}
    Plan root() {
        Plan plan{.name = "root"};
        fill(plan, 1 + below(4), 0, "");
        return plan;
    }

private:
    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    void fill(Plan& plan, int count, int depth, const std::string& prefix) {
        for (int i = 0; i < count; ++i) plan.inner.push_back(node(prefix + static_cast<char>('a' + i), depth));
        for (int i = 1; i < count; ++i) {
            if (below(2) == 0) plan.edges.emplace_back(below(i), i);
        }
    }
    Plan node(const std::string& name, int depth) {
        Plan plan{.name = name};
        if (below(6) == 0) plan.sends = 1 + below(3);
        if (depth < 2 && below(10) < 4) {
            plan.per_thread = plan.sends == 0 && below(5) == 0;
            fill(plan, 1 + below(3), depth + 1, name);
        } else {
            plan.questions = below(3);
            plan.fails = below(6) == 0;
            plan.fails_late = below(2) == 0;
        }
        return plan;
    }
    std::mt19937 random_;
};

std::string answerTo(const std::string& question) { return "answer to " + question; }

/// Notes what the nodes of one thread do, and did.
class World {
public:
    explicit World(bool asks) : asks_(asks) {}

    Update run(const Plan& plan, const State& state, sg::Runtime& runtime) {
        const std::string id = plan.name + state.foo;
        if (!plan.fails_late) failOnce(plan, id);
        std::string text = id;
        for (int i = 0; i < plan.questions; ++i) {
            const std::string question = id + "?" + std::to_string(i);
            text += " " + (asks_ ? sg::interrupt<std::string>(runtime, question) : answerTo(question));
        }
        if (plan.fails_late) failOnce(plan, id);
        const std::lock_guard lock(mutex_);
        ++finished_[id];
        return bar(text);
    }
    const std::map<std::string, int>& finished() const { return finished_; }

private:
    void failOnce(const Plan& plan, const std::string& id) {
        if (!asks_ || !plan.fails) return;
        const std::lock_guard lock(mutex_);
        if (failed_[id]++ == 0) throw std::runtime_error(id + " fails once");
    }
    bool asks_;
    std::mutex mutex_;
    std::map<std::string, int> failed_;
    std::map<std::string, int> finished_;
};

/// The output of a subgraph.
struct Bar {
    Strings bar = {};
    static constexpr auto channels() { return sg::channels(sg::channel("bar", &Bar::bar, sg::append)); }
};

template <class G>
void build(G& graph, const Plan& plan, World& world);

template <class G>
void addNode(G& graph, const Plan& plan, World& world) {
    if (plan.inner.empty()) {
        graph.addNode(plan.name, [&plan, &world](const State& state, sg::Runtime& runtime) {
            return world.run(plan, state, runtime);
        });
        return;
    }
    sg::StateGraph<State, State, Bar> inner;
    build(inner, plan, world);
    const auto compiled = inner.compile({.checkpointer = plan.per_thread ? sg::PER_THREAD : sg::Checkpointer()});
    if (plan.sends > 0) {
        graph.addNode(plan.name, compiled);
    } else {
        graph.addNode(
            plan.name, compiled, [](const State&) -> Update { return {}; },
            [](const State& state) -> Update { return {sg::add(&State::bar, state.bar)}; });
    }
}

template <class G>
void build(G& graph, const Plan& plan, World& world) {
    for (const Plan& node : plan.inner) addNode(graph, node, world);
    std::vector<bool> has_edge(plan.inner.size(), false);
    const auto at = [](int index) { return static_cast<std::size_t>(index); };
    for (const auto& [from, to] : plan.edges) {
        graph.addEdge(plan.inner[at(from)].name, plan.inner[at(to)].name);
        has_edge[at(to)] = true;
    }
    for (std::size_t i = 0; i < plan.inner.size(); ++i) {
        const Plan& node = plan.inner[i];
        if (node.sends > 0) {
            const auto send = [&node](const State&) {
                std::vector<sg::Send> sends;
                for (int index = 0; index < node.sends; ++index)
                    sends.emplace_back(node.name, State{.foo = std::to_string(index)});
                return sends;
            };
            graph.addConditionalEdges(sg::START, send, {node.name});
        } else if (!has_edge[i]) {
            graph.addEdge(sg::START, node.name);
        }
    }
}

App compiled(const Plan& plan, World& world, const std::shared_ptr<sg::MemorySaver>& saver) {
    Graph graph;
    build(graph, plan, world);
    return graph.compile({.checkpointer = saver});
}

Strings textsOf(const std::vector<sg::Interrupt>& interrupts) {
    Strings texts;
    for (const auto& interrupt : interrupts)
        texts.push_back(interrupt.id.toString() + interrupt.value.as<std::string>());
    std::sort(texts.begin(), texts.end());
    return texts;
}

/// Drives a thread to its end, like users who answer the questions in any order.
class Users {
public:
    Users(const Plan& plan, unsigned seed) : plan_(plan), random_(seed) {}

    Strings drive() {
        for (int round = 0; round < 300; ++round) {
            if (!app_ || below(4) == 0) app_.emplace(compiled(plan_, world_, saver_));  // another process
            const auto outcome = next();
            if (outcome.failed()) {
                REQUIRE_MESSAGE(outcome.template as<sg::NodeError>() != nullptr, outcome.what());
            } else if (outcome.status == sg::Status::done) {
                return outcome.values.bar;
            } else if (outcome.status == sg::Status::interrupted) {
                CHECK(textsOf(app_->getState({.thread_id = "t"}, {.subgraphs = true}).interrupts()) ==
                      textsOf(outcome.interrupts));
            }
        }
        FAIL("the thread does not end");
        return {};
    }
    const World& world() const { return world_; }

private:
    unsigned below(unsigned n) { return random_() % n; }

    drivers::Outcome<State> next() {
        const auto& all = drivers::all();
        const drivers::Driver& driver = all[below(static_cast<unsigned>(all.size()))];
        CAPTURE(driver.name);
        sg::RunConfig config{.thread_id = "t", .durability = static_cast<sg::Durability>(below(3))};
        if (below(2) == 0) config.max_concurrency = 1;
        if (saver_->list({}).empty()) return driver.run(*app_, Update{}, config);
        const auto open = app_->getState({.thread_id = "t"}, {.subgraphs = true}).interrupts();
        if (open.size() == 1 && below(2) == 0)
            return driver.run(*app_, sg::Command<>{.resume = answerTo(open[0].value.as<std::string>())}, config);
        std::vector<sg::Answer> answers;
        for (const auto& question : open) {
            if (below(2) == 0) answers.push_back({question.id, answerTo(question.value.as<std::string>())});
        }
        if (answers.empty()) return driver.run(*app_, sg::RESUME, config);
        return driver.run(*app_, sg::Command<>{.answers = answers}, config);
    }

    const Plan& plan_;
    std::mt19937 random_;
    World world_{true};
    std::shared_ptr<sg::MemorySaver> saver_ = std::make_shared<sg::MemorySaver>();
    std::optional<App> app_;
};

}  // namespace

TEST_CASE(
    "questions at any depth, answered in any rounds by any driver: the end is as if nobody had been asked, and nothing "
    "runs twice") {
    for (unsigned seed = 0; seed < 150; ++seed) {
        CAPTURE(seed);
        const Plan plan = Planner(seed).root();
        World calm(false);
        const auto expected = compiled(plan, calm, std::make_shared<sg::MemorySaver>())
                                  .invoke(Update{}, {.thread_id = "calm"})
                                  .values.bar;
        Users users(plan, seed + 1);
        CHECK(users.drive() == expected);
        CHECK(users.world().finished() == calm.finished());
    }
}
