#pragma once
#include <set>

#include "tests/golden/graphs.hpp"

// The threads of tests/golden/v1. They are never changed: what was written once must be read for ever.
namespace golden {

/// All that a thread shows: its state with those of its subgraphs, then the history of each of its logs.
template <class App>
std::string describe(const App& app, sg::BaseCheckpointSaver& saver, const std::string& thread) {
    std::string text =
        "{\"state\":" +
        toJson(static_cast<const sg::SnapshotData&>(app.getState({.thread_id = thread}, {.subgraphs = true})));
    std::set<std::string> logs;
    for (const auto& row : saver.list({.thread_id = thread})) logs.insert(row.checkpoint_ns);
    for (const auto& ns : logs) {
        text += ",\"log " + ns + "\":[";
        const char* between = "";
        for (const auto& snapshot : app.getStateHistory({.thread_id = thread, .checkpoint_ns = ns})) {
            text += std::exchange(between, ",") + toJson(static_cast<const sg::SnapshotData&>(snapshot));
        }
        text += ']';
    }
    return text + '}';
}

template <class App>
std::string finish(const App& app, const std::string& thread) {
    for (int rounds = 0; rounds < 20; ++rounds) {
        const auto state = app.getState({.thread_id = thread}, {.subgraphs = true});
        if (state.next.empty()) return state.valuesAsJson();
        const auto open = state.interrupts();
        if (open.empty()) {
            app.invoke(sg::RESUME, {.thread_id = thread});
        } else {
            app.invoke(sg::Command<>{.answers = {{open.front().id, "yes"}}}, {.thread_id = thread});
        }
    }
    throw std::runtime_error("thread " + thread + " does not end");
}

/// `make(saver, broken)` is its graph; `store(app)` runs it, with the broken one.
template <class Make, class Store>
Thread threadOf(std::string name, Make make, Store store) {
    return {name,
            [=](const SharedSaver& saver) {
                try {
                    store(make(saver, true));
                } catch (const sg::Error&) {
                    // As it is meant to be.
                }
            },
            [=](const SharedSaver& saver) { return describe(make(saver, false), *saver, name); },
            [=](const SharedSaver& saver) { return finish(make(saver, false), name); }};
}

inline std::vector<Thread> threads() {
    std::vector<Thread> all;
    const auto add = [&all](std::string name, auto make, auto store) {
        const auto with_name = [=](const auto& app) { store(app, name); };
        all.push_back(threadOf(
            name, [=](const SharedSaver& saver, bool broken) { return make(saver, broken); }, with_name));
    };
    const auto chains = [](const SharedSaver& saver, bool) { return chain(saver); };
    const auto to = [](const char* node) {
        return [node](const auto& app, const std::string& name) {
            app.invoke(says("in"), {.thread_id = name, .interrupt_before = {node}});
        };
    };

    add("due", chains, to("b"));
    add("done", chains, [](const auto& app, const std::string& name) { app.invoke(says("in"), {.thread_id = name}); });
    add(
        "input", [](const SharedSaver& saver, bool broken) { return entrance(saver, broken); },
        [](const auto& app, const std::string& name) { app.invoke(says("in"), {.thread_id = name}); });
    add(
        "error", [](const SharedSaver& saver, bool broken) { return fork(saver, broken); },
        [](const auto& app, const std::string& name) { app.invoke(says("in"), {.thread_id = name}); });
    add(
        "question", [](const SharedSaver& saver, bool) { return fork(saver, false, 1); },
        [](const auto& app, const std::string& name) { app.invoke(says("in"), {.thread_id = name}); });
    add(
        "answered", [](const SharedSaver& saver, bool) { return fork(saver, false, 2); },
        [](const auto& app, const std::string& name) {
            app.invoke(says("in"), {.thread_id = name});
            app.invoke(sg::Command<>{.resume = "first"}, {.thread_id = name});
        });
    add(
        "command", [](const SharedSaver& saver, bool) { return fork(saver, false, 1); },
        [](const auto& app, const std::string& name) {
            app.invoke(says("in"), {.thread_id = name});
            app.invoke(sg::Command<Line>{.update = says("commanded")}, {.thread_id = name});
        });
    const auto joins = [](const SharedSaver& saver, bool) { return paths(saver); };
    add("join", joins, to("far"));
    add("deferred", joins, to("both"));
    add("released", joins, to("late"));
    add("ended", joins, [](const auto& app, const std::string& name) { app.invoke(says("in"), {.thread_id = name}); });
    add(
        "sends", [](const SharedSaver& saver, bool) { return map(saver); }, to("work"));
    add(
        "inner", [](const SharedSaver& saver, bool) { return nested(saver, false); },
        [](const auto& app, const std::string& name) { app.invoke(says("in"), {.thread_id = name}); });
    add(
        "memory", [](const SharedSaver& saver, bool) { return nested(saver, true); },
        [](const auto& app, const std::string& name) {
            app.invoke(says("in"), {.thread_id = name});
            app.invoke(sg::Command<>{.resume = "first"}, {.thread_id = name});
            app.invoke(says("again"), {.thread_id = name});
        });
    add("fork", chains, [](const auto& app, const std::string& name) {
        app.invoke(says("in"), {.thread_id = name});
        std::vector<sg::Config> past;
        for (const auto& snapshot : app.getStateHistory({.thread_id = name})) past.push_back(snapshot.config);
        sg::RunConfig from = past[2];
        from.interrupt_before = {"c"};
        app.invoke(sg::RESUME, from);
    });
    add("update", chains, [](const auto& app, const std::string& name) {
        app.invoke(says("in"), {.thread_id = name, .interrupt_before = {"b"}});
        app.updateState({.thread_id = name}, says("edited"), {.as_node = "a"});
    });
    add("bulk", chains, [](const auto& app, const std::string& name) {
        app.bulkUpdateState({.thread_id = name}, {{{says("1"), sg::START}}, {{says("2"), "a"}, {says("3"), "b"}}});
    });
    add("metadata", chains, [](const auto& app, const std::string& name) {
        app.invoke(says("in"), {.thread_id = name,
                                .interrupt_before = {"c"},
                                .metadata = {{"user", sg::Value("me")}, {"n", sg::Value(3)}}});
    });
    add("exit", joins, [](const auto& app, const std::string& name) {
        app.invoke(says("in"), {.thread_id = name, .durability = sg::Durability::exit, .interrupt_before = {"both"}});
    });
    add(
        "snapshots", [](const SharedSaver& saver, bool) { return growing(saver); },
        [](const auto& app, const std::string& name) {
            app.invoke({sg::add(&Channels::list, "kept")}, {.thread_id = name, .recursion_limit = 100});
        });
    add(
        "operations", [](const SharedSaver& saver, bool) { return operations(saver); },
        [](const auto& app, const std::string& name) {
            app.invoke({sg::set(&Channels::last, "in")}, {.thread_id = name, .interrupt_before = {"4"}});
        });
    add(
        "types", [](const SharedSaver& saver, bool) { return types(saver); },
        [](const auto& app, const std::string& name) {
            app.invoke({sg::set(&Types::text, "in")}, {.thread_id = name, .interrupt_before = {"read"}});
        });
    add(
        "json", [](const SharedSaver& saver, bool) { return json(saver); },
        [](const auto& app, const std::string& name) {
            app.invoke({sg::write("last", nullptr)}, {.thread_id = name, .interrupt_before = {"2"}});
        });
    add(
        "effects", [](const SharedSaver& saver, bool broken) { return effects(saver, broken); },
        [](const auto& app, const std::string& name) { app.invoke(says("in"), {.thread_id = name}); });
    add("limit", chains, [](const auto& app, const std::string& name) {
        app.invoke(says("in"), {.thread_id = name, .recursion_limit = 1});
    });
    add(
        "failed again", [](const SharedSaver& saver, bool broken) { return fork(saver, broken); },
        [](const auto& app, const std::string& name) {
            try {
                app.invoke(says("in"), {.thread_id = name});
            } catch (const sg::NodeError&) {
            }
            app.invoke(sg::RESUME, {.thread_id = name});
        });
    add(
        "went on", [](const SharedSaver& saver, bool) { return fork(saver, false, 1); },
        [](const auto& app, const std::string& name) {
            app.invoke(says("in"), {.thread_id = name, .interrupt_before = {"fin"}});
            app.invoke(sg::RESUME, {.thread_id = name});
        });
    return all;
}

}  // namespace golden
