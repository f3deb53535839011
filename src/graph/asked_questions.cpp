#include "src/graph/asked_questions.hpp"

#include <stategraph/error.hpp>

namespace stategraph::engine {

std::string refusedAnswer(const std::string& node, const std::string& key, const WrongTypeError& why) {
    return "the answer to node '" + node + "'" + (key.empty() ? "" : " for '" + key + "'") +
           " is of the wrong type: " + why.message() + "; the interrupt stays open";
}

void AskedQuestions::add(Key key, Asked asked) {
    const detail::LockGuard lock(mutex_);
    const auto [place, is_new] = asked_.insert_or_assign(key, std::move(asked));
    if (!is_new) return;
    try {
        order_.push_back(std::move(key));
    } catch (...) {
        asked_.erase(place);
        throw;
    }
    if (order_.size() <= kept_max) return;
    asked_.erase(order_.front());
    order_.pop_front();
}

void AskedQuestions::check(const Key& key, const Value& answer) const {
    Asked asked{};
    {
        const detail::LockGuard lock(mutex_);
        const auto found = asked_.find(key);
        if (found == asked_.end()) return;
        asked = found->second;
    }
    if (asked.check == nullptr) return;
    try {
        asked.check(answer);
    } catch (const WrongTypeError& why) {
        throw WrongTypeError(refusedAnswer(asked.node, asked.key, why), {.thread_id = key.thread, .node = asked.node});
    }
}

}  // namespace stategraph::engine
