#include <stategraph/detail/pause.hpp>

#include "src/superstep/task_context.hpp"
#include "src/task/task_env.hpp"

namespace stategraph::detail {

bool isPause(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const InterruptSignal&) {
        return true;
    } catch (const engine::InnerPause&) {
        return true;
    } catch (const engine::ParentCommandSignal&) {
        return true;
    } catch (const SleepSignal&) {
        return true;
    } catch (const StopSignal&) {
        return true;
    } catch (const RefusedAnswerSignal&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace stategraph::detail
