#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/interrupt.hpp>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// One open question. The key of its interrupt is its path with the elements of foreaches, such as
/// "outer.each[2].leaf".
struct Question {
    std::string key;
    std::vector<std::string> path;      // only the ids
    std::optional<std::int64_t> index;  // the element of the first foreach on the path
    std::size_t index_at = 0;           // the number of ids up to and including that foreach
    Value payload;
    std::vector<std::string> labels;
    const Step* step;
    bool is_due = true;  // false if time travel went past the step, so that its answer would lead nowhere
};

/// Returns the number of the entry that is due. State::at is its number in the definition with which the run was left,
/// and another one may have more or fewer entries before it. Therefore, if the workflow waits for answers (`waits`),
/// the entry is found by its steps: it is the last one that has asked, because the records of later ones are always
/// forgotten. If that is not known, an entry after `at` that has asked is due.
std::size_t dueEntryOf(const Plan& plan, const State& state, bool waits);

/// Returns the open questions of a workflow and of workflows inside it, in the order of its steps. `waits`: as for
/// dueEntryOf; inside it follows from the state.
std::vector<Question> openQuestions(const Plan& plan, const State& state, bool waits = false);

/// Returns whether it is among `interrupts`, those of the run's thread: nobody has answered it.
inline bool isAsked(const Question& question, const std::vector<Interrupt>& interrupts) noexcept {
    return std::ranges::find(interrupts, question.key, &Interrupt::key) != interrupts.end();
}

/// Returns whether any of them is due and among `interrupts`, those of the run's thread. Cost: little, unless a foreach
/// or a workflow inside asks.
bool hasDueQuestion(const Plan& plan, const State& state, const std::vector<Interrupt>& interrupts);

/// Returns a path as text, such as "outer.inner.step".
std::string joined(const std::vector<std::string>& path);
std::vector<std::string> split(std::string_view path);

}  // namespace stategraph::workflow
