#pragma once
#include <vector>

#include "workflow/plan.hpp"

namespace stategraph::workflow {

/// Returns the open questions at which the tasks of steps have stopped themselves, which are those of graphs that are
/// steps. `tasks` must be from a snapshot that was read with the states of subgraphs. The questions have no labels.
std::vector<QuestionView> innerQuestions(const Plan& plan, const std::vector<TaskSnapshot>& tasks);

}  // namespace stategraph::workflow
