#include "worker/threads.hpp"

#include <random>
#include <utility>

namespace stategraph::workers {

Threads::Clock::time_point SystemThreads::now() { return Clock::now(); }

void SystemThreads::wait(detail::UniqueLock& lock, std::condition_variable& changed,
                         std::optional<Clock::time_point> until) {
    if (!until) return changed.wait(lock.native());
    (void)changed.wait_until(lock.native(), *until);
}

void SystemThreads::notify(std::condition_variable& changed) noexcept { changed.notify_all(); }

void SystemThreads::notifyOne(std::condition_variable& changed) noexcept { changed.notify_one(); }

void SystemThreads::start(std::function<void()> run) { threads_.emplace_back(std::move(run)); }

void SystemThreads::join() noexcept {
    for (std::thread& each : threads_) each.join();
    threads_.clear();
}

unsigned SystemThreads::seed() { return std::random_device{}(); }

}  // namespace stategraph::workers
