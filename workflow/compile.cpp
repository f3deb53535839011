#include <algorithm>
#include <limits>

#include <stategraph/async.hpp>
#include <stategraph/detail/verdict.hpp>

#include "workflow/execution.hpp"

// Turns a definition into the graph that runs it: one node for each step, map and sleep, and the nodes between them.
namespace stategraph::workflow {
namespace {

using PlanPointer = std::shared_ptr<const Plan>;

class Compiler {
public:
    explicit Compiler(PlanPointer plan) : plan_(std::move(plan)) {}

    StateGraph<State> make() {
        if (plan_->is_root) {
            for (const auto& target : plan_->beginnings.front()) graph_.addEdge(START, target.node());
            graph_.addNode(wait_node,
                           [plan = plan_](const State& s, Runtime& rt) { return waitForAnswers(*plan, s, rt); },
                           {.ends = everywhere()});
        } else {
            graph_.addConditionalEdges(
                START,
                [plan = plan_](const State& s) -> Targets {
                    return s.goes_on ? Targets(enter_node) : plan->beginnings.front();
                },
                PathMap(beginningsAndEnter()));
            graph_.addNode(enter_node, [plan = plan_](const State& s) { return enterNested(*plan, s); },
                           {.ends = everywhere()});
        }
        for (std::size_t entry = 0; entry < entries().size(); ++entry) addEntry(entry);
        return std::move(graph_);
    }

private:
    const std::vector<Entry>& entries() const noexcept { return plan_->definition.entries; }

    static void addTargets(std::vector<std::string>& names, const Targets& targets) {
        for (const auto& target : targets) names.push_back(target.node());
    }
    std::vector<std::string> beginningsAndEnter() const {
        std::vector<std::string> names{enter_node};
        addTargets(names, plan_->beginnings.front());
        return names;
    }
    // Returns the nodes to which answers and time travel may lead.
    NodeNames everywhere() const {
        std::vector<std::string> names;
        for (std::size_t entry = 0; entry < entries().size(); ++entry) {
            for (const std::string& id : idsOf(entries()[entry])) names.push_back(id);
            addTargets(names, plan_->beginnings[entry]);
            if (isBlock(entries()[entry])) names.push_back(joinOf(entry));
        }
        return names;
    }
    // Returns the nodes to which an entry leads when it has ended, and `more`.
    NodeNames endsOf(std::size_t entry, std::vector<std::string> more = {}) const {
        if (entry + 1 < entries().size()) addTargets(more, plan_->beginnings[entry + 1]);
        if (plan_->is_root) more.emplace_back(wait_node);
        return more;
    }

    void addEntry(std::size_t entry) {
        const Entry& added = entries()[entry];
        switch (added.kind) {
            case Entry::Kind::then:
                addStep(added.steps.front(), endsOf(entry));
                break;
            case Entry::Kind::parallel:
            case Entry::Kind::branch:
                addBlock(entry);
                break;
            case Entry::Kind::dowhile:
            case Entry::Kind::dountil:
                addStep(added.steps.front(), endsOf(entry, {turnOf(entry)}));
                graph_.addNode(turnOf(entry),
                               [plan = plan_, entry](const State& s) { return turnLoop(*plan, entry, s); },
                               {.ends = endsOf(entry, {added.steps.front().id})});
                break;
            case Entry::Kind::foreach:
                addForeach(entry);
                break;
            case Entry::Kind::map:
                graph_.addNode(added.id,
                               [plan = plan_, place = plan_->findPlace(added.id)](const State& s, Runtime& rt) {
                                   return runMap(*plan, *place, s, rt);
                               },
                               {.ends = endsOf(entry)});
                break;
            case Entry::Kind::sleep:
                graph_.addNode(added.id,
                               [plan = plan_, place = plan_->findPlace(added.id)](const State& s, Runtime& rt) {
                                   return runSleep(*plan, *place, s, rt);
                               },
                               {.ends = endsOf(entry)});
                break;
        }
    }

    NodeOptions optionsOf(const Step& step, NodeNames ends) const {
        NodeOptions options;
        if (!step.workflow) options.retry = plan_->retryOf(step);
        options.timeout = step.timeout;
        options.idle_timeout = step.idle_timeout;
        options.metadata = step.metadata;
        options.ends = std::move(ends);
        return options;
    }

    void addStep(const Step& step, const NodeNames& ends) {
        const Place* const place = plan_->findPlace(step.id);
        if (step.execute_async) {
            graph_.addNode(
                step.id, [plan = plan_, place](const State& s, Runtime& rt) { return awaitStep(*plan, *place, s, rt); },
                optionsOf(step, ends));
        } else {
            graph_.addNode(
                step.id, [plan = plan_, place](const State& s, Runtime& rt) { return runStep(*plan, *place, s, rt); },
                optionsOf(step, ends));
        }
        graph_.onError(
            step.id,
            [plan = plan_, place](const State& s, const NodeFailure& failure, Runtime& rt) {
                return stepFailed(*plan, *place, s, failure, rt);
            },
            ends);
    }

    void addBlock(std::size_t entry) {
        const Entry& block = entries()[entry];
        for (const Step& step : block.steps) addStep(step, NodeNames{joinOf(entry)});
        if (block.kind == Entry::Kind::branch) {
            std::vector<std::string> members = idsOf(block);
            graph_.addNode(askOf(entry), [plan = plan_, entry](const State& s) { return askBranch(*plan, entry, s); },
                           {.ends = endsOf(entry, std::move(members))});
        }
        graph_.addNode(joinOf(entry), [plan = plan_, entry](const State& s) { return joinBlock(*plan, entry, s); },
                       {.ends = endsOf(entry)});
    }

    void addForeach(std::size_t entry) {
        const Entry& loop = entries()[entry];
        const Step& step = loop.steps.front();
        const Place* const place = plan_->findPlace(step.id);
        const std::string item = itemNodeOf(step.id);
        const std::string end = itemsEndOf(step.id);
        graph_.addNode(
            step.id, [plan = plan_, place](const State& s, Runtime& rt) { return beginForeach(*plan, *place, s, rt); },
            {.ends = endsOf(entry, {item, end})});
        NodeOptions options = optionsOf(step, {item, end});
        options.max_concurrency = loop.concurrency;
        if (step.execute_async) {
            graph_.addNode(
                item, [plan = plan_, place](const Item& i, Runtime& rt) { return awaitItem(*plan, *place, i, rt); },
                options);
        } else {
            graph_.addNode(
                item, [plan = plan_, place](const Item& i, Runtime& rt) { return runItem(*plan, *place, i, rt); },
                options);
        }
        graph_.onError(
            item,
            [plan = plan_, place](const Item& i, const NodeFailure& failure, Runtime& rt) {
                return itemFailed(*plan, *place, i, failure, rt);
            },
            NodeNames{end});
        graph_.addNode(end,
                       [plan = plan_, place](const State& s, Runtime& rt) { return endForeach(*plan, *place, s, rt); },
                       {.ends = endsOf(entry)});
    }

    PlanPointer plan_;
    StateGraph<State> graph_;
};

}  // namespace

namespace {

// A graph of which a step failed has ended like any other; its state says that the run has failed.
stategraph::detail::Verdict verdictOf(const void* state) {
    const auto& ended = *static_cast<const State*>(state);
    if (ended.status == Word::failed) return {Status::failed, ended.error};
    return {ended.status == Word::canceled ? Status::cancelled : Status::done};
}

}  // namespace

CompiledGraph<State> compile(std::shared_ptr<const Plan> plan, const CompileOptions& options) {
    CompileOptions with = options;
    with.recursion_limit = std::numeric_limits<int>::max();
    StateGraph<State> graph = Compiler(std::move(plan)).make();
    stategraph::detail::Verdicts::judgeWith(graph, verdictOf);
    return graph.compile(with);
}

Update<State> beginningOf(State state) {
    Update<State> update{set<&State::input>(std::move(state.input)), set<&State::data>(std::move(state.data))};
    if (!state.shared.empty()) update.with(merge(&State::shared, std::move(state.shared)));
    if (!state.context.empty()) update.with(merge(&State::context, std::move(state.context)));
    if (!state.metadata.empty()) update.with(set<&State::metadata>(std::move(state.metadata)));
    if (state.is_single_step) update.with(set<&State::is_single_step>(true));
    return update;
}

Update<State> updateOf(const State& state) {
    return {set<&State::input>(state.input),
            set<&State::data>(state.data),
            set<&State::at>(state.at),
            set<&State::status>(state.status),
            set<&State::result>(state.result),
            set<&State::error>(state.error),
            overwrite<&State::records>(state.records),
            overwrite<&State::items>(state.items),
            overwrite<&State::shared>(state.shared),
            overwrite<&State::additions>(state.additions),
            overwrite<&State::reduced>(state.reduced),
            set<&State::chosen>(state.chosen),
            overwrite<&State::context>(state.context),
            set<&State::metadata>(state.metadata),
            overwrite<&State::path>(state.path),
            overwrite<&State::is_canceled>(state.is_canceled),
            set<&State::is_single_step>(state.is_single_step),
            set<&State::goes_on>(state.goes_on),
            set<&State::answers>(state.answers),
            overwrite<&State::set_keys>(state.set_keys)};
}

}  // namespace stategraph::workflow
