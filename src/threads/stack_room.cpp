#include "src/threads/stack_room.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <stategraph/error.hpp>

namespace stategraph::engine {
namespace {

// What a node, and what reports an error through all runs around it, may need; but not more than a quarter of a stack.
constexpr std::size_t room_bytes = std::size_t(256) << 10U;

// The part of a thread's stack in which no run begins any more. Stacks grow downwards.
struct Rest {
    std::uintptr_t lowest = 0;
    std::uintptr_t highest = 0;
};

// Returns an empty part if the system does not tell; then nothing is refused.
Rest restOfStack() noexcept {
    Rest rest;
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return rest;
    void* lowest = nullptr;
    std::size_t size = 0;
    if (::pthread_attr_getstack(&attributes, &lowest, &size) == 0 && size > 0) {
        const auto end = reinterpret_cast<std::uintptr_t>(lowest);
        rest = {end, end + std::min(room_bytes, size / 4)};
    }
    ::pthread_attr_destroy(&attributes);
    return rest;
}

}  // namespace

void checkStackRoom() {
    static thread_local const Rest rest = restOfStack();
    // Not the address of a variable, which AddressSanitizer keeps elsewhere. The stack of a fiber is not known.
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    if (here < rest.lowest || here >= rest.highest) return;
    throw GraphRecursionError(
        "runs are nested in runs until the stack of this thread has no room for another one; end the recursion, await "
        "the graphs inside (asyncInvoke), or begin the run on a thread with a larger stack");
}

}  // namespace stategraph::engine
