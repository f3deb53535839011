#pragma once
#include <string_view>

namespace stategraph {
class Runtime;
}

namespace stategraph::engine {

/// Whether a task's error says that an answer was refused.
bool isRefusal(std::string_view error) noexcept;

/// While a function that Flow::start was given runs, on its thread: others of its task ask at the same time, so the
/// order among them says nothing.
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

/// The function that `once` calls is called again within one attempt of the node: it asks from the beginning.
void restartQuestions(Runtime& runtime) noexcept;

}  // namespace stategraph::detail
