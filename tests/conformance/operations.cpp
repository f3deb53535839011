#include "tests/conformance/operations.hpp"

#include <algorithm>
#include <stdexcept>

#include <stategraph/async.hpp>
#include <stategraph/unfinished.hpp>

#include "tests/conformance/graph.hpp"
#include "tests/conformance/observe.hpp"
#include "tests/support/thread_index.hpp"

namespace conformance {
namespace {

/// One operation on a graph.
class Operation {
public:
    Operation(const json::object& op, const App& app, const GraphBuilder& graph, const Settings& settings,
              bool has_saver, World& world)
        : op_(op),
          app_(app),
          graph_(graph),
          settings_(settings),
          saver_(has_saver ? settings.saver.get() : nullptr),
          world_(world),
          thread_(settings.threads_prefix + (op.contains("thread") ? text(get(op, "thread")) : "t")) {}

    void perform(json::object& expect) {
        const std::string kind = text(get(op_, "op"));
        if (kind == "invoke") {
            invoke(expect);
        } else if (kind == "stream") {
            stream(expect);
        } else if (kind == "get_state") {
            const sg::Config place{.thread_id = thread_, .checkpoint_id = at("at")};
            expect.emplace("state",
                           describe(app_.getState(place, {.subgraphs = isTrue(get(op_, "subgraphs"))}), ordinals()));
        } else if (kind == "clear_cache") {
            app_.clearCache();
        } else if (kind == "history") {
            history(expect);
        } else if (kind == "update_state") {
            update();
        } else {
            throw std::runtime_error("no such operation: " + kind);
        }
    }

    /// Shows the state afterwards, for operations that may change it.
    void showState(json::object& expect) const {
        const std::string kind = text(get(op_, "op"));
        if (saver_ == nullptr || kind == "get_state" || kind == "history" || kind == "clear_cache") return;
        expect.emplace("state", describe(app_.getState({.thread_id = thread_}), ordinals()));
    }

    /// Remembers the ids of the questions that the thread shows, for later answers.
    void rememberQuestions() const {
        if (saver_ == nullptr) return;
        for (const auto& asked : app_.getState({.thread_id = thread_}).interrupts())
            world_.asked(thread_, sg::toJsonValue(asked.value), asked.id);
    }

    /// Returns whether the saver's index is wrong about the thread.
    bool isMissedByIndex() const {
        if (saver_ == nullptr) return false;
        return !wrongInIndex(*saver_, thread_).empty();
    }

private:
    Ordinals ordinals() const { return Ordinals(saver_, thread_); }
    sg::CheckpointId at(std::string_view key) const {
        const json::value* ordinal = op_.if_contains(key);
        return ordinal != nullptr ? ordinals().at(ordinal->to_number<std::int64_t>()) : sg::CheckpointId();
    }

    sg::RunConfig config() const {
        sg::RunConfig config{.thread_id = thread_, .checkpoint_id = at("at")};
        config.max_concurrency = settings_.concurrency;
        config.control = world_.control();
        if (const json::value* limit = op_.if_contains("recursion_limit"))
            config.recursion_limit = limit->to_number<int>();
        if (const auto before = names(get(op_, "interrupt_before")); !before.empty()) config.interrupt_before = before;
        if (const auto after = names(get(op_, "interrupt_after")); !after.empty()) config.interrupt_after = after;
        const json::value& durability = get(op_, "durability");
        if (durability == "sync") config.durability = sg::Durability::sync;
        if (durability == "exit") config.durability = sg::Durability::exit;
        return config;
    }

    bool isCommand() const { return op_.contains("resume") || op_.contains("answers") || op_.contains("command"); }
    std::vector<sg::Answer> answers(const json::array& given) const {
        std::vector<sg::Answer> answers;
        for (const json::value& each : given) {
            const json::object& one = each.as_object();
            answers.emplace_back(world_.idOf(thread_, get(one, "to")), sg::fromJson(get(one, "value")));
        }
        return answers;
    }
    sg::Command<sg::JsonState> command() const {
        sg::Command<sg::JsonState> command;
        if (const json::value* answer = op_.if_contains("resume")) command.resume = sg::fromJson(*answer);
        if (const json::value* given = op_.if_contains("answers")) command.answers = answers(given->as_array());
        if (const json::value* asked = op_.if_contains("command")) {
            const json::object& how = asked->as_object();
            command.update = updateOf(get(how, "update"), graph_.root().channels);
            if (const json::array* targets = get(how, "goto").if_array()) {
                for (const json::value& target : *targets) command.go_to.add(evaluateTarget(target, {}));
            }
        }
        return command;
    }
    bool goesOn() const { return get(op_, "input").is_null(); }
    // Returns the input without what the graph does not accept, as the reference does.
    sg::Update<sg::JsonState> input() const { return updateOf(get(op_, "input"), graph_.input()); }

    /// Calls `run` with the arguments of the run.
    template <class Run>
    auto start(Run&& run) const {
        if (isCommand()) return run(command());
        if (goesOn()) return run(sg::RESUME);
        return run(input());
    }

    void invoke(json::object& expect) const {
        const auto result = start([&](auto input) {
            if (settings_.awaits) return sg::syncWait(app_.asyncInvoke(std::move(input), config()));
            return app_.invoke(std::move(input), config());
        });
        if (result.status == sg::Status::drained) {
            expect.emplace("error", json::object{{"kind", "drained"}});
            return;
        }
        expect.emplace("output", result.values.toObject());
        if (!result.interrupts.empty()) expect.emplace("interrupts", values(result.interrupts));
    }

    void stream(json::object& expect) const {
        sg::StreamOptions options{.modes = {}, .subgraphs = isTrue(get(op_, "subgraphs"))};
        options.modes = modes();
        Chunks chunks(options.subgraphs);
        const auto take = [&](const sg::StreamEvent& event) { chunks.take(event); };
        try {
            const auto status = start([&](auto input) {
                if (!settings_.awaits) return app_.stream(std::move(input), config(), options, take).status;
                auto events = app_.asyncStream(std::move(input), config(), options);
                while (const auto event = sg::syncWait(events.next())) take(*event);
                return events.outcome().status;
            });
            if (status == sg::Status::breakpoint) chunks.markBreakpoint();
            if (status == sg::Status::drained) expect.emplace("error", json::object{{"kind", "drained"}});
        } catch (...) {
            expect.emplace("chunks", std::move(chunks.chunks()));
            throw;
        }
        expect.emplace("chunks", std::move(chunks.chunks()));
    }

    sg::StreamModes modes() const {
        using enum sg::StreamMode;
        sg::StreamModes all;
        for (const auto& name : names(get(op_, "modes"))) {
            for (const auto mode : {sg::StreamMode::values, updates, tasks, checkpoints, debug, custom}) {
                if (name == sg::toString(mode)) all = all | mode;
            }
        }
        return all;
    }

    void history(json::object& expect) const {
        sg::HistoryOptions options{.before = at("before")};
        if (const json::value* limit = op_.if_contains("limit")) options.limit = limit->to_number<std::size_t>();
        if (const json::object* filter = get(op_, "filter").if_object()) {
            for (const auto& entry : *filter)
                options.filter.push_back({std::string(entry.key()), sg::fromJson(entry.value())});
        }
        json::array shown;
        const Ordinals all = ordinals();
        for (const auto& snapshot : app_.getStateHistory({.thread_id = thread_}, options))
            shown.push_back(describe(snapshot, all));
        expect.emplace("history", std::move(shown));
    }

    void update() const {
        sg::UpdateOptions options;
        if (const json::value& node = get(op_, "as_node"); node.is_string()) options.as_node = text(node);
        const auto& channels = options.as_node == sg::START ? graph_.input() : graph_.root().channels;
        app_.updateState({.thread_id = thread_, .checkpoint_id = at("at")}, updateOf(get(op_, "values"), channels),
                         options);
    }

    const json::object& op_;
    const App& app_;
    const GraphBuilder& graph_;
    const Settings& settings_;
    sg::BaseCheckpointSaver* saver_;
    World& world_;
    std::string thread_;
};

// Returns whether an object in the value has the key.
bool mentions(const json::value& value, std::string_view key) {
    if (const json::array* items = value.if_array())
        return std::ranges::any_of(*items, [&](const json::value& item) { return mentions(item, key); });
    const json::object* object = value.if_object();
    return object != nullptr && std::ranges::any_of(*object, [&](const auto& entry) {
               return entry.key() == key || mentions(entry.value(), key);
           });
}

}  // namespace

json::object answer(const json::object& scenario, const Settings& settings) {
    const json::object& spec = get(scenario, "graph").as_object();
    const bool has_saver = get(spec, "checkpointer") != false;
    World world(settings.limits, mentions(scenario.at("graph"), "drain"));
    GraphBuilder builder(world);
    std::optional<App> app;
    json::object built;
    try {
        app = builder.build(spec, has_saver ? settings.saver : nullptr);
    } catch (const sg::Error& error) {
        built.emplace("error", describe(error));
    }
    json::array run;
    for (const json::value& each : get(scenario, "run").as_array()) {
        json::object op = each.as_object();
        op.erase("expect");
        json::object expect;
        if (app) {
            world.beginOperation();
            Operation operation(op, *app, builder, settings, has_saver, world);
            try {
                operation.perform(expect);
            } catch (const std::exception& error) {
                expect.emplace("error", describe(error));
            }
            if (json::array executed = world.takeExecuted(); !executed.empty())
                expect.emplace("executed", std::move(executed));
            if (operation.isMissedByIndex()) expect.emplace("index", "the thread is not finished");
            try {
                operation.rememberQuestions();
                operation.showState(expect);
            } catch (const std::exception& error) {
                expect.insert_or_assign("error", describe(error));
            }
        }
        op.emplace("expect", std::move(expect));
        run.push_back(std::move(op));
    }
    return {{"name", get(scenario, "name")}, {"expect_build", std::move(built)}, {"run", std::move(run)}};
}

}  // namespace conformance
