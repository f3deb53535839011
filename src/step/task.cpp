#include "src/step/task.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "src/value/comparisons.hpp"

namespace stategraph::engine {

void TaskRecord::sortAnswers() {
    const auto place = [](const Interrupt& answer) { return std::tie(answer.id, answer.index); };
    std::stable_sort(answers.begin(), answers.end(),
                     [&](const Interrupt& a, const Interrupt& b) { return place(a) < place(b); });
}

void TaskRecord::addOpenQuestions(std::vector<std::string_view>& values) const {
    for (const Interrupt& asked : interrupts) {
        if (findAnswer(asked.id, asked.index) == nullptr) values.push_back(asked.value.bytes());
    }
}

const Interrupt* TaskRecord::findAnswer(TaskId question, std::uint64_t index) const noexcept {
    const std::pair wanted(question, index);
    const auto found =
        std::lower_bound(answers.begin(), answers.end(), wanted, [](const Interrupt& each, const auto& place) {
            ++checkpoint::comparisons;
            return std::tie(each.id, each.index) < std::tie(place.first, place.second);
        });
    return found != answers.end() && found->id == question && found->index == index ? &*found : nullptr;
}

void Task::clear() {
    is_empty = true;
    progress = {};
    result.writes.clear();
    result.go_to.clear();
    result.to_parent = false;
    result.written = nullptr;
    routes.clear();
    if (record.stored || record.took || record.attempts != 1 || !record.empty()) record = {};
    id = {};
    if (has_extra_) {
        extra_ = {};
        has_extra_ = false;
    }
}

void encodeSend(const PendingSend& send, Encoder& out) {
    if (send.payload.empty()) {
        out.raw(send.stored);
    } else {
        send.payload.encode(out);
    }
}

}  // namespace stategraph::engine
