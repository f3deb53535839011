#include "src/threads/refusal.hpp"

#include <stategraph/error.hpp>

#include "src/checkpoint/paths.hpp"

namespace stategraph::engine {
namespace {

// Returns null if it says something else.
std::exception_ptr copyOf(const std::exception_ptr& thrown) noexcept {
    try {
        std::rethrow_exception(thrown);
    } catch (const LeaseLostError& lost) {
        return std::make_exception_ptr(lost);
    } catch (const ConcurrentUpdateError& refused) {
        return std::make_exception_ptr(refused);
    } catch (...) {
        return nullptr;
    }
}

}  // namespace

bool isRefusal(const std::exception_ptr& thrown) noexcept { return copyOf(thrown) != nullptr; }

void Refusal::notePut(const std::exception_ptr& thrown) noexcept {
    if (!isRefusal(thrown)) is_uncertain_.store(true, std::memory_order_relaxed);
    noteTask(thrown);
}

void Refusal::noteTask(const std::exception_ptr& thrown) noexcept {
    if (isUncertain()) return;
    std::exception_ptr copy = copyOf(thrown);
    if (!copy) return;
    const detail::LockGuard lock(mutex_);
    if (!first_) first_ = std::move(copy);
    is_noted_.store(true, std::memory_order_release);
}

template <class F>
void Refusal::noteMet(F begin) noexcept {
    const detail::LockGuard lock(mutex_);
    try {
        met_.emplace(begin());
    } catch (...) {
        knows_all_met_ = false;
    }
}

// All of a task's effects have paths that begin alike.
void Refusal::noteEffect(std::string_view path) noexcept {
    noteMet([&] { return path.substr(0, checkpoint::effectPath(TaskId(), {}).size()); });
}

void Refusal::noteCall(TaskId task) noexcept {
    noteMet([&] { return checkpoint::effectPath(task, {}); });
}

bool Refusal::hasMet(TaskId task) const noexcept {
    const detail::LockGuard lock(mutex_);
    try {
        return !knows_all_met_ || met_.contains(checkpoint::effectPath(task, {}));
    } catch (...) {
        return true;
    }
}

void Refusal::refuse() {
    throw ConcurrentUpdateError("another writer of the thread was first, so nothing of this run is stored any more");
}

void Refusal::throwFirst() {
    std::exception_ptr first;
    {
        const detail::LockGuard lock(mutex_);
        first = first_;
    }
    std::rethrow_exception(first);
}

}  // namespace stategraph::engine
