#include <stategraph/thread_status.hpp>

namespace stategraph {

const char* toString(ThreadStatus status) noexcept {
    switch (status) {
        case ThreadStatus::unknown:
            return "unknown";
        case ThreadStatus::finished:
            return "finished";
        case ThreadStatus::interrupted:
            return "interrupted";
        case ThreadStatus::failed:
            return "failed";
        case ThreadStatus::breakpoint:
            return "breakpoint";
        case ThreadStatus::limit:
            return "limit";
        case ThreadStatus::cancelled:
            return "cancelled";
        case ThreadStatus::timed_out:
            return "timed_out";
        case ThreadStatus::sleeping:
            return "sleeping";
        case ThreadStatus::edited:
            return "edited";
    }
    return "?";
}

}  // namespace stategraph
