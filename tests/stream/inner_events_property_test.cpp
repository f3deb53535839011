// SECONDS: 30
#include <algorithm>
#include <cstdlib>
#include <set>

#include <doctest/doctest.h>

#include <stategraph/stream_hub.hpp>

#include "tests/random/undisturbed.hpp"
#include "tests/support/sanitized.hpp"

// Random graphs with subgraphs in subgraphs, beside each other, from Sends, with logs of every kind, with questions,
// forks and new input: what a late reader finds in the log is what a subscriber received while it happened.
// STATEGRAPH_RANDOM_SEED begins with another graph.
using namespace random_graph;
using namespace std::chrono_literals;
using sg::StreamMode;

namespace {

const sg::StreamModes durable_modes = {StreamMode::updates, StreamMode::values, StreamMode::checkpoints};

struct Got {
    std::string what;
    sg::StreamPosition position;
    bool durable;
    bool inside;
    bool is_pause;
    std::string ns;
};

// An error handler's name is not in the log, nor that a result was restored.
std::string shown(std::string text) {
    const std::string prefix = "__error_handler__";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
        text.erase(at, prefix.size());
    const std::string restored = R"("__metadata__":{"cached":true},)";
    const std::string restored_last = R"(,"__metadata__":{"cached":true})";
    for (const std::string& part : {restored, restored_last}) {
        const std::size_t at = text.find(part);
        if (at != std::string::npos) text.erase(at, part.size());
    }
    return text;
}

std::vector<Got> take(sg::Subscription& subscription) {
    std::vector<Got> all;
    while (const auto event = subscription.next(0ms)) {
        std::string ns;
        for (const auto& segment : event->ns) ns += (ns.empty() ? "" : "|") + segment;
        all.push_back({shown(std::to_string(event->step) + toJson(static_cast<const sg::StreamEvent&>(*event))),
                       event->position, event->durable, !event->ns.empty(),
                       event->data.toJson().starts_with(R"({"__interrupt__")"), ns});
    }
    return all;
}
Strings texts(const std::vector<Got>& all) {
    Strings what;
    for (const Got& each : all) what.push_back(each.what);
    return what;
}

bool leavesToParent(const GraphPlan& plan) {
    return std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const NodePlan& node) { return node.to_parent; }) ||
           std::any_of(plan.inner.begin(), plan.inner.end(), leavesToParent);
}

void finish(const App& app, const sg::RunConfig& config, sg::Result<State> result) {
    for (int calls = 0; result.status == sg::Status::interrupted; ++calls) {
        require(calls < 200, "the run asks for ever");
        Command command;
        std::set<std::string> ids;
        for (const auto& question : result.interrupts) {
            if (ids.insert(question.id.toString()).second) command.answers.push_back({question.id, answerTo(question)});
        }
        result = app.invoke(command, config);
    }
}

class Compared {
public:
    explicit Compared(std::uint64_t seed) : random_(seed), plan_(Planner(random_).make()) {
        INFO("STATEGRAPH_RANDOM_SEED=" << seed << "\n" << toText(plan_));
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = build(plan_, std::make_shared<World>(), {.checkpointer = saver});
        sg::StreamHub hub(app);
        const sg::SubscribeOptions everything{
            .modes = durable_modes, .subgraphs = true, .capacity = 1U << 20U, .capacity_bytes = 1U << 30U};
        auto live = hub.subscribe("t", everything);
        auto slow = hub.subscribe("t", {.modes = durable_modes, .subgraphs = true, .capacity = 3});
        const sg::RunConfig config{.thread_id = "t",
                                   .durability = random_.chance(50) ? sg::Durability::sync : sg::Durability::async,
                                   .recursion_limit = limit,
                                   .max_concurrency = 1 + static_cast<int>(random_.below(4)),
                                   .hub = &hub,
                                   .context = Turn()};
        finish(app, config, app.invoke(theInput(), config));
        for (std::size_t rounds = random_.below(3); rounds > 0; --rounds) again(app, config);
        received_ = take(live);
        slowly_ = take(slow);
        auto reader = hub.subscribe("t", {.from = sg::StreamPosition(), .modes = durable_modes, .subgraphs = true});
        read_ = take(reader);
        for (const auto& head : saver->list({.thread_id = "t", .heads = true})) logs_.insert(head.checkpoint_ns);
        checkOrder();
        checkLive();
        checkSlow();
        checkReconnections(app);
        sg::StreamHub alone(saver);
        auto other = alone.subscribe("t", {.from = sg::StreamPosition(), .modes = durable_modes, .subgraphs = true});
        CHECK(texts(take(other)) == texts(read_));
    }

private:
    // New input, or a run from a checkpoint of the past.
    void again(const App& app, sg::RunConfig config) {
        std::vector<sg::CheckpointId> past;
        for (const auto& snapshot : app.getStateHistory({.thread_id = "t"})) {
            // A run from a fork of the past asks there, and not at the thread's newest checkpoint.
            if (!snapshot.next.empty() && snapshot.source != sg::Source::fork)
                past.push_back(snapshot.config.checkpoint_id);
        }
        if (random_.chance(50)) {
            finish(app, config, app.invoke(theInput(), config));
            return;
        }
        sg::RunConfig from = config;
        from.checkpoint_id = past[random_.below(past.size())];
        finish(app, config, app.invoke(sg::RESUME, from));
    }

    void checkOrder() {
        for (std::size_t i = 0; i < read_.size(); ++i) {
            CHECK(read_[i].durable);
            if (i > 0) CHECK((read_[i - 1].position < read_[i].position));
        }
    }

    // The run's events may have more: what was restored or read again is told again, and supersteps that ended with a
    // Command for the graph around, or that were dropped, have no commit.
    void checkLive() {
        std::set<std::string> live;
        for (const Got& got : received_) {
            if (got.is_pause) continue;
            live.insert(got.what);
            CHECK(got.durable == !got.inside);
        }
        std::set<std::string> late;
        for (const Got& got : read_) late.insert(got.what);
        for (const std::string& each : late) CHECK_MESSAGE(live.contains(each), each);
        if (leavesToParent(plan_)) return;
        for (const Got& got : received_) {
            if (!got.is_pause && isLogged(got.ns)) CHECK_MESSAGE(late.contains(got.what), got.what);
        }
    }

    // A graph without a log hides what is inside it.
    bool isLogged(const std::string& ns) const {
        for (std::size_t at = ns.find('|'); at != std::string::npos; at = ns.find('|', at + 1)) {
            if (!logs_.contains(ns.substr(0, at))) return false;
        }
        return logs_.contains(ns);
    }

    // What it could not take while it happened, it gets from the log.
    void checkSlow() {
        std::set<std::string> got;
        std::multiset<std::string> from_log;
        sg::StreamPosition before;
        for (const Got& each : slowly_) {
            got.insert(each.what);
            if (!each.durable) continue;
            from_log.insert(each.what);
            CHECK((before < each.position));
            before = each.position;
        }
        std::multiset<std::string> all;
        for (const Got& each : read_) {
            CHECK_MESSAGE(got.contains(each.what), each.what);
            all.insert(each.what);
        }
        for (const std::string& each : from_log) CHECK_MESSAGE(from_log.count(each) <= all.count(each), each);
    }

    void checkReconnections(const App& app) {
        sg::StreamHub hub(app);
        const Strings all = texts(read_);
        for (int tries = 0; tries < 12 && !read_.empty(); ++tries) {
            const std::size_t at = random_.below(read_.size());
            const auto from = sg::StreamPosition::parse(read_[at].position.toString());
            CAPTURE(from.toString());
            auto reader = hub.subscribe("t", {.from = from, .modes = durable_modes, .subgraphs = true});
            CHECK(texts(take(reader)) == Strings(all.begin() + static_cast<std::ptrdiff_t>(at) + 1, all.end()));
        }
    }

    Random random_;
    GraphPlan plan_;
    std::vector<Got> received_, slowly_, read_;
    std::set<std::string> logs_;
};

}  // namespace

TEST_CASE("of random graphs a late reader receives what a subscriber did, also from any place within") {
    const char* const given = std::getenv("STATEGRAPH_RANDOM_SEED");
    const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1 + sanitized::turn() * 60;
    const char* const count = std::getenv("STATEGRAPH_RANDOM_GRAPHS");
    const std::uint64_t graphs = count != nullptr ? std::strtoull(count, nullptr, 10) : sanitized::some(60);
    for (std::uint64_t seed = first; seed < first + graphs; ++seed) Compared compared(seed);
}

TEST_CASE("what a Command for the graph around dropped, and a later visit takes along, is not received twice") {
    for (const std::uint64_t seed : {61, 83}) Compared compared(seed);
}
