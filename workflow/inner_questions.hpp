#pragma once
#include <vector>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// Open questions that steps' tasks have stopped at themselves: those of graphs that steps are made of. `tasks` are of
/// a snapshot that was read with the states of subgraphs. They have no labels.
std::vector<QuestionView> innerQuestions(const Plan& plan, const std::vector<TaskSnapshot>& tasks);

}  // namespace stategraph::workflow
