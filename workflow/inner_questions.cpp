#include "workflow/inner_questions.hpp"

#include <algorithm>

#include "workflow/nested_execution.hpp"

namespace stategraph::workflow {
namespace {

// A task that is an element of a foreach has the node for elements.
std::string pathOf(const Plan& plan, const TaskSnapshot& task, const Place*& place) {
    const std::string_view name = task.name;
    const std::string element = itemNodeOf("");
    if (!name.ends_with(element)) {
        place = plan.findPlace(name);
        return place == nullptr ? std::string() : place->path;
    }
    place = plan.findPlace(name.substr(0, name.size() - element.size()));
    return place == nullptr ? std::string() : place->path + "[" + std::to_string(task.input.as<Item>().index) + "]";
}

void addQuestions(const Plan& plan, const TaskSnapshot& task, std::vector<QuestionView>& questions) {
    const Place* place = nullptr;
    const std::string path = pathOf(plan, task, place);
    if (place == nullptr) return;
    if (const CallSnapshot* const call = place->nested ? newestCall(task) : nullptr) {
        for (const TaskSnapshot& inside : call->state->tasks) {
            if (!inside.finished) addQuestions(*place->nested->plan, inside, questions);
        }
        return;
    }
    for (const Interrupt& interrupt : task.open_interrupts)
        questions.push_back({.id = interrupt.id, .path = path, .payload = interrupt.value, .labels = {}});
}

}  // namespace

std::vector<QuestionView> innerQuestions(const Plan& plan, const std::vector<TaskSnapshot>& tasks) {
    std::vector<QuestionView> questions;
    for (const TaskSnapshot& task : tasks) {
        if (!task.finished && !task.open_interrupts.empty()) addQuestions(plan, task, questions);
    }
    return questions;
}

}  // namespace stategraph::workflow
