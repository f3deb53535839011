#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/materialise.hpp"
#include "tests/fault/fault_graph.hpp"
#include "tests/support/drivers.hpp"

// What must hold after every failure: the thread is at a whole superstep, what is finished stays finished, and resuming
// leads to the result of the undisturbed run.
namespace fault {

inline const sg::Config T{.thread_id = "t"};
using SharedSaver = std::shared_ptr<sg::BaseCheckpointSaver>;

/// Returns {"namespace step": values as JSON} of every checkpoint that a saver has of the thread, read without types.
/// Ids of tasks are left out of namespaces.
inline std::map<std::string, std::string> storedValues(sg::BaseCheckpointSaver& saver) {
    std::map<std::string, std::string> all;
    for (const auto& row : saver.list({.thread_id = "t"})) {
        const sg::LogName log{row.thread_id, row.checkpoint_ns};
        auto tuple = saver.getTuple({.log = log, .checkpoint_id = row.id});
        REQUIRE(tuple);
        const auto folded = sg::checkpoint::fold(log, std::move(*tuple));
        std::string values;
        for (const auto& channel : folded.channels) {
            const std::string value = sg::cborToJson(sg::checkpoint::materialise(channel.pieces));
            // A channel with a reducer begins with this value, and may be stored before anything is written to it.
            if (value == "[]" || value == "{}" || value == "\"\"" || value == "0") continue;
            values += std::string(channel.name) + "=" + value + " ";
        }
        const std::string key =
            row.checkpoint_ns.substr(0, row.checkpoint_ns.find(':')) + " " + std::to_string(folded.commit.step);
        const auto [at, is_new] = all.emplace(key, values);
        CHECK_MESSAGE((is_new || at->second == values), "two checkpoints of ", key, " differ: ", at->second, " and ",
                      values);
    }
    return all;
}

/// Returns the name that Runs uses for a task.
inline std::string keyOf(const sg::TaskSnapshot& task) {
    if (task.path == "push:0000000000") return task.name + " one";
    if (task.path == "push:0000000001") return task.name + " two";
    return task.name;
}

/// Calls `f`, during which things may fail.
inline void inRun(const std::function<void()>& f) {
    struct Guard {
        Guard() { in_run = true; }
        ~Guard() { in_run = false; }
    } const guard;
    f();
}

/// How each call into the run is made. An alternative arms what is armed for each thread.
using Around = std::function<void(const std::function<void()>&)>;

inline Update theInput() { return {sg::add(&State::list, "the input"), sg::add(&State::sum, 1)}; }

/// A run that nothing disturbed.
struct Undisturbed {
    State final;
    std::map<std::string, std::string> values;
    std::map<std::string, int> returned;
    std::map<std::string, std::int64_t> due_at;  // the step of the checkpoint at which a task of the root graph is due

    static const Undisturbed& get() {
        static const Undisturbed made;
        return made;
    }

private:
    Undisturbed() {
        Runs runs;
        const auto saver = std::make_shared<sg::MemorySaver>();
        const App app = faultGraph(runs, saver);
        const sg::RunConfig config{.thread_id = "t", .max_concurrency = 1};
        REQUIRE((app.invoke(theInput(), config).status == sg::Status::interrupted));
        REQUIRE((app.invoke(sg::Command<State>{.resume = "yes"}, config).status == sg::Status::done));
        final = app.getState(T).values;
        values = storedValues(*saver);
        returned = runs.returned();
        for (const auto& snapshot : app.getStateHistory(T)) {
            for (const auto& task : snapshot.tasks) due_at.emplace(keyOf(task), snapshot.step);
        }
        REQUIRE(final.list.size() == 16);
    }
};

/// One thread that is made to fail, checked after each failure, and driven to its end.
class Disturbed {
public:
    /// `saver` is given to the run, and stores into `inner`.
    Disturbed(const SharedSaver& saver, SharedSaver inner, sg::RunConfig config,
              const drivers::Driver& driver = drivers::blocking())
        : inner_(std::move(inner)),
          app_(faultGraph(runs_, saver)),
          observer_(faultGraph(runs_, inner_)),
          config_(std::move(config)),
          driver_(driver) {}

    /// Continues, call by call, until the thread is done. `failed(error)` is called with each failure first, and may
    /// disarm. With `only_one_fails`, only one task's own code has failed, so all its siblings must be kept.
    template <class F>
    void drive(F failed, bool only_one_fails = false, const Around& around = inRun) {
        for (int call = 0; call < 12; ++call) {
            const auto state = observer_.getState(T);
            if (call == 0) from_start_ = !state.config.checkpoint_id;
            if (state.config.checkpoint_id && state.tasks.empty())
                break;  // `next` leaves out what only waits for its commit
            REQUIRE(call < 11);
            try {
                around([&] { goOn(state); });
            } catch (const std::exception& error) {
                in_run = false;
                INFO("after: ", std::string(error.what()));
                failed(error);
                look(only_one_fails);
            }
        }
        finish();
    }

private:
    void goOn(const sg::StateSnapshot<State>& state) {
        if (!state.config.checkpoint_id) {
            driver_.run(app_, theInput(), config_).get();
        } else if (!state.interrupts().empty()) {
            driver_.run(app_, sg::Command<State>{.resume = "yes"}, config_).get();
        } else {
            driver_.run(app_, sg::RESUME, config_).get();
        }
    }

    void requireWholeSupersteps() {
        const Undisturbed& wanted = Undisturbed::get();
        for (const auto& [key, values] : storedValues(*inner_)) {
            const auto found = wanted.values.find(key);
            REQUIRE_MESSAGE(found != wanted.values.end(), "a checkpoint that the undisturbed run does not have: ", key);
            CHECK_MESSAGE(values == found->second, "at ", key);
        }
        std::optional<std::int64_t> above;
        for (const auto& snapshot : observer_.getStateHistory(T)) {
            CHECK((!above || snapshot.step < *above));
            above = snapshot.step;
        }
    }

    /// Checks the thread after a failure.
    void look(bool only_one_fails) {
        requireWholeSupersteps();
        const auto state = observer_.getState(T, {.subgraphs = true});
        if (!state.config.checkpoint_id) return;
        const auto returned = runs_.returned();
        const auto countOf = [&](const std::string& task) {
            const auto found = returned.find(task);
            return found != returned.end() ? found->second : 0;
        };
        for (const auto& [task, step] : Undisturbed::get().due_at) {
            if (step < state.step && task != sg::START && task != "sub") finished_[task] = countOf(task);
        }
        int lost = 0;
        for (const auto& task : state.tasks) {
            const std::string key = keyOf(task);
            if (task.finished) {
                finished_[key] = countOf(key);
            } else if (state.tasks.size() > 1 && countOf(key) > 0) {
                ++lost;
            }
            if (!task.state) continue;
            if (task.state->step > 0) finished_["in1"] = countOf("in1");
            for (const auto& inside : task.state->tasks) {
                if (inside.finished) finished_[inside.name] = countOf(inside.name);
            }
        }
        if (only_one_fails) CHECK_MESSAGE(lost <= 1, "siblings of the task that failed have run and are not kept");
    }

    void finish() {
        requireWholeSupersteps();
        const auto state = observer_.getState(T);
        CHECK((state.values == Undisturbed::get().final));
        CHECK(state.tasks.empty());
        const auto returned = runs_.returned();
        for (const auto& [task, count] : finished_) {
            CHECK_MESSAGE((returned.contains(task) ? returned.at(task) : 0) == count,
                          "ran again though it was finished: ", task);
        }
        if (!from_start_) return;
        for (const auto& [task, count] : Undisturbed::get().returned)
            CHECK_MESSAGE(returned.contains(task), "never ran: ", task);
    }

    Runs runs_;
    SharedSaver inner_;
    App app_;
    App observer_;
    sg::RunConfig config_;
    const drivers::Driver& driver_;
    std::map<std::string, int> finished_;
    bool from_start_ = true;
};

}  // namespace fault
