#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/runtime.hpp>
#include <stategraph/value.hpp>

namespace stategraph::detail {

/// A task of the superstep that was unfinished when new input came, and that will not be executed any more.
struct AbandonedTask {
    std::string node;
    /// The payload of a task that a Send made.
    std::optional<Value> payload = {};
    /// Its open questions.
    std::vector<Value> asked = {};
    /// The answers that it was given.
    std::vector<Value> answers = {};
    /// Whether it began an effect (Runtime::once). `unknown`: the log would not say so.
    enum class Begun : std::uint8_t { no, yes, unknown } begun = Begun::unknown;
    /// The results of its effects that are stored, by their keys: these were executed.
    std::map<std::string, Value> done = {};
};

/// Returns the tasks that this run's input has left unfinished, if the graph asked for them (Verdicts::hearAbandoned).
/// They are known in the first superstep after the input, also to a run that continues it after a crash.
std::vector<AbandonedTask> abandonedTasks(Runtime& runtime);

}  // namespace stategraph::detail
