#include <stategraph/async.hpp>

#include <chrono>

#include <stategraph/control.hpp>
#include <stategraph/error.hpp>
#include <stategraph/runtime.hpp>

#include "src/async/stop_wait.hpp"

namespace stategraph {

Task<> sleepFor(Runtime& runtime, std::chrono::nanoseconds time) {
    const std::stop_token stop = stopToken(runtime);
    engine::StopWait wait(detail::after(time), stop);
    co_await wait;
    if (!stop.stop_requested()) co_return;
    const std::string node(runtime.node());
    throw CancelledError("node '" + node + "' slept when its run was stopped, or its time was up",
                         {.node = node, .step = runtime.step()});
}

}  // namespace stategraph
