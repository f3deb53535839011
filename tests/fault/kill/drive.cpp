#include "tests/fault/kill/drive.hpp"

#include <functional>

namespace fault {
namespace {

// The parts of a checkpoint's event that are read.
struct EventConfig {
    std::string checkpoint_id = {};
    static constexpr auto fields() { return sg::fields(sg::field("checkpoint_id", &EventConfig::checkpoint_id)); }
};
struct CheckpointEvent {
    EventConfig config = {};
    static constexpr auto fields() { return sg::fields(sg::field("config", &CheckpointEvent::config)); }
};

class Driver {
public:
    Driver(const App& app, Journal& journal, const DriveOptions& options)
        : app_(app), journal_(journal), options_(options) {}

    bool operator()() {
        for (;;) {
            const auto found = app_.getState({.thread_id = thread_id});
            const auto open = found.interrupts();
            const int given = static_cast<int>(found.values.inputs.size());
            if (!open.empty()) {
                const sg::Interrupt& question = open.front();
                sg::Command<State> command;
                command.answers.push_back({question.id, answerTo(question.value)});
                const std::string ack = "ack answer " + question.id.toString() + " " + std::to_string(question.index);
                if (!run(std::move(command), [&](const std::string&) { return ack; })) return false;
            } else if (!found.tasks.empty()) {
                // `next` is not checked, because it is also empty if all tasks of a superstep have finished and the
                // commit does not exist yet.
                if (!run(sg::RESUME, [](const std::string&) { return std::string(); })) return false;
            } else if (given < options_.rounds) {
                const std::string ack = "ack input " + std::to_string(given) + " ";
                if (!run(inputOf(given), [&](const std::string& checkpoint) { return ack + checkpoint; })) return false;
            } else {
                return true;
            }
        }
    }

private:
    sg::RunConfig config() const {
        return {.thread_id = thread_id, .durability = options_.durability, .recursion_limit = 1000};
    }
    void acknowledge(const std::string& line) const {
        if (!line.empty() && options_.durability != sg::Durability::exit) journal_.note(line);
    }
    void ended(sg::Status status, const sg::Config& at) const {
        journal_.note("ack run " + at.checkpoint_id.toString() + " " + toString(status));
    }

    // Returns false if it was stopped.
    template <class In, class Ack>
    bool run(In in, Ack ack) {
        if (options_.driver != nullptr) {
            const auto outcome = options_.driver->run(app_, std::move(in), config()).get();
            ended(outcome.status, outcome.config);
            return true;
        }
        bool is_first = true;
        const auto take = [&](const sg::StreamEvent& event) {
            if (!std::exchange(is_first, false)) return;
            acknowledge(ack(event.data.as<CheckpointEvent>().config.checkpoint_id));
        };
        const sg::StreamOptions asked{.modes = sg::StreamMode::checkpoints, .subgraphs = options_.live};
        if (!options_.walks) {
            const auto result = app_.stream(std::move(in), config(), asked, take);
            ended(result.status, result.config);
            return true;
        }
        auto events = app_.stream(std::move(in), config(), asked);
        for (const auto& event : events) {
            take(event);
            if (options_.stop != nullptr && options_.stop->load()) return false;
        }
        const auto result = events.outcome();
        ended(result.status, result.config);
        return true;
    }

    const App& app_;
    Journal& journal_;
    const DriveOptions& options_;
};

}  // namespace

bool drive(const App& app, Journal& journal, const DriveOptions& options) { return Driver(app, journal, options)(); }

}  // namespace fault
