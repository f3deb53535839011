#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/compiled_graph.hpp>
#include <stategraph/detail/state_schema.hpp>

// All the ways to drive a run, as one list: what holds for one must hold for all of them.
//
//     for (const drivers::Driver& driver : drivers::all()) {
//         CAPTURE(driver.name);
//         const auto outcome = driver.run(app, bar("in"), {.thread_id = driver.name});
//         REQUIRE(outcome.what() == "");
//         CHECK((outcome.status == sg::Status::done));
//         CHECK(outcome.values.bar == Strings{"in", "a"});
//     }
//
// Includes neither coroutines nor Asio: drivers.cpp has them, compiled once for states of every type.
namespace drivers {

namespace sg = stategraph;

/// How a run ended, whatever its state.
struct Ended : sg::RunOutcome {
    /// Null if the run did not throw; otherwise nothing else means anything, except `events`.
    std::exception_ptr error;
    /// Those of a streaming driver, in their order; also those before an error.
    std::vector<sg::StreamEvent> events;

    /// The error's text; empty without one.
    std::string what() const;
    bool failed() const noexcept { return error != nullptr; }
    /// The error as an E; null if there is none, or another.
    template <class E>
    const E* as() const {
        try {
            if (error) std::rethrow_exception(error);
        } catch (const E& found) {
            return &found;  // `error` keeps it
        } catch (...) {
        }
        return nullptr;
    }
};

template <class Output>
struct Outcome : Ended {
    /// What the run gave.
    Output values = {};

    /// As the blocking call: the outcome, or throws what the run threw.
    const Outcome& get() const {
        if (error) std::rethrow_exception(error);
        return *this;
    }
};

/// When a run is abandoned: whichever comes first. It may be over before.
struct Leave {
    /// After so many steps: events of a stream; of other runs, pieces of work that their coroutines posted to their
    /// executors.
    std::size_t steps = std::numeric_limits<std::size_t>::max();
    /// As soon as this is true, called between steps and about each millisecond while nothing happens.
    std::function<bool()> when = {};
};

struct Call {
    std::shared_ptr<const sg::detail::Core> core;
    sg::detail::RunInput input;
    sg::RunConfig config;
    void* values = nullptr;
};

/// Whether something can end a run from outside, which takes other paths through the engine.
enum class Ending : std::uint8_t {
    plain,
    stoppable,  // a RunControl; on Asio a cancellation slot
    timed,      // a timeout of ten minutes
};

class Driver {
public:
    std::string name;
    Ending ending = Ending::plain;

    /// `input` is an sg::Update of the graph's input, sg::RESUME or an sg::Command. A control or timeout in `config` is
    /// kept as it is.
    template <class S, class Input, class Output, class In>
    Outcome<Output> run(const sg::CompiledGraph<S, Input, Output>& app, In input,
                        const sg::RunConfig& config = {}) const {
        Outcome<Output> outcome;
        sg::detail::StateBox<S> box;
        const Call call{app.core(), sg::detail::toRunInput<S, Input>(std::move(input)), withEnding(config),
                        box.object()};
        static_cast<Ended&>(outcome) = run_(call, ending);
        if (outcome.error) return outcome;
        outcome.values = sg::detail::project<Output>(std::move(box.state));
        return outcome;
    }
    template <class S, class Input, class Output>
    Outcome<Output> run(const sg::CompiledGraph<S, Input, Output>& app, sg::Update<Input> input,
                        const sg::RunConfig& config = {}) const {
        return run<S, Input, Output, sg::Update<Input>>(app, std::move(input), config);
    }

    /// Whether its runs can be abandoned midway.
    bool canAbandon() const noexcept { return abandon_ != nullptr; }
    /// Begins a run and destroys it midway, as its caller may: a stream left early, a task destroyed, an execution
    /// context destroyed. True: the run was over before. A range of events waits for its nodes, so there they must end
    /// by themselves. It throws no error of the run.
    template <class S, class Input, class Output, class In>
    bool abandon(const sg::CompiledGraph<S, Input, Output>& app, In input, const sg::RunConfig& config,
                 const Leave& leave) const {
        sg::detail::StateBox<S> box;
        return abandon_(
            {app.core(), sg::detail::toRunInput<S, Input>(std::move(input)), withEnding(config), box.object()}, ending,
            leave);
    }

    using Run = Ended (*)(const Call& call, Ending ending);
    using Abandon = bool (*)(const Call& call, Ending ending, const Leave& leave);
    Driver(std::string called, Run run, Abandon abandon) : name(std::move(called)), run_(run), abandon_(abandon) {}

private:
    sg::RunConfig withEnding(sg::RunConfig config) const;

    Run run_;
    Abandon abandon_;
};

/// Blocking, as ranges of events, as a callback's events, awaited, spawned, as in a worker, as awaited events, both on
/// Asio, and as events on an Asio executor.
const std::vector<Driver>& all();
/// Each of them plain, with something that could stop it, and with a timeout.
const std::vector<Driver>& crossed();
/// For loops that take long: `crossed()`, or in builds with a sanitizer each driver once, with one of the endings in
/// turn.
const std::vector<Driver>& affordable();
/// The blocking one.
const Driver& blocking();

}  // namespace drivers
