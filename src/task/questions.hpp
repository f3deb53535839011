#pragma once
#include <string_view>

namespace stategraph {
class Runtime;
}

namespace stategraph::engine {

/// Returns whether a task's error says that an answer was refused.
bool isRefusal(std::string_view error) noexcept;

/// Marks the thread while a function that Flow::start was given runs on it. Others of its task may ask at the same
/// time, so the order among their questions has no meaning.
class StartedCall {
public:
    StartedCall() noexcept;
    ~StartedCall();
    StartedCall(const StartedCall&) = delete;
    StartedCall& operator=(const StartedCall&) = delete;

private:
    bool outer_;
};

}  // namespace stategraph::engine

namespace stategraph::detail {

/// Call it when the function that `once` calls is called again within one attempt of the node: its questions are
/// counted from the beginning again.
void restartQuestions(Runtime& runtime) noexcept;

}  // namespace stategraph::detail
