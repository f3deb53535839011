#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// One open question. Its key, of the interrupt, is its path with the elements of foreaches: "outer.each[2].leaf".
struct Question {
    std::string key;
    std::vector<std::string> path;      // ids alone
    std::optional<std::int64_t> index;  // of the first foreach on the path
    std::size_t index_at = 0;           // how many ids stand before and with that foreach
    Value payload;
    std::vector<std::string> labels;
    const Step* step;
    bool is_due = true;  // false: time travel went past the step, and its answer would lead nowhere
};

/// The open questions of a workflow, those of workflows inside it too, in the order of its steps.
std::vector<Question> openQuestions(const Plan& plan, const State& state);

/// "outer.inner.step".
std::string joined(const std::vector<std::string>& path);
std::vector<std::string> split(std::string_view path);

/// Writes an answer where the step that asked finds it when it is executed again. `key` is the question's.
void giveAnswer(const Plan& plan, State& state, std::string_view key, const Value& answer);

}  // namespace stategraph::workflow
