#include "tests/support/failing_new.hpp"

#include <cstdlib>
#include <limits>
#include <new>

#include "tests/support/sanitized.hpp"

#if STATEGRAPH_WITH_ASAN || STATEGRAPH_WITH_TSAN || STATEGRAPH_CLANG_SANITIZER(memory_sanitizer)
#define STATEGRAPH_FAILING_NEW 0
#else
#define STATEGRAPH_FAILING_NEW 1
#endif

namespace {

struct Armed {
    std::size_t calls = 0;
    std::size_t first = std::numeric_limits<std::size_t>::max();
    std::size_t end = 0;
    std::size_t failures = 0;
};
constinit thread_local Armed armed;

}  // namespace

namespace failing_new {

bool available() noexcept { return STATEGRAPH_FAILING_NEW != 0; }

void arm(std::size_t fail_at, std::size_t count) noexcept {
    armed = {.calls = 0, .first = fail_at, .end = fail_at + count, .failures = 0};
}

void count() noexcept {
    constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    armed = {.calls = 0, .first = never, .end = never, .failures = 0};
}

std::size_t counted() noexcept {
    const std::size_t calls = armed.calls;
    armed = {};
    return calls;
}

std::size_t disarm() noexcept {
    const std::size_t failures = armed.failures;
    armed = {};
    return failures;
}

}  // namespace failing_new

#if STATEGRAPH_FAILING_NEW

// By default the forms for arrays and the nothrow forms call these two.
void* operator new(std::size_t size) {
    Armed& mine = armed;
    if (mine.end != 0 && ++mine.calls >= mine.first && mine.calls < mine.end) {
        ++mine.failures;
        throw std::bad_alloc();
    }
    if (void* place = std::malloc(size > 0 ? size : 1)) return place;
    throw std::bad_alloc();
}

void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }

#endif
