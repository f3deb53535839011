#include "worker/threads.hpp"

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

namespace stategraph::workers {
namespace {

// Nodes that were abandoned, and have not returned, keep a thread each.
constexpr std::size_t abandoned_max = 4'096;

}  // namespace

Threads::Clock::time_point SystemThreads::now() { return Clock::now(); }

void SystemThreads::wait(detail::UniqueLock& lock, std::condition_variable& changed,
                         std::optional<Clock::time_point> until) {
    if (!until) return changed.wait(lock.native());
    (void)changed.wait_until(lock.native(), *until);
}

void SystemThreads::notify(std::condition_variable& changed) noexcept { changed.notify_all(); }

void SystemThreads::open(std::size_t runs) {
    const std::size_t cores = std::max(2U, std::thread::hardware_concurrency());
    threads_.emplace(std::min(cores, runs), runs + abandoned_max);
    threads_->open();
}

void SystemThreads::beside(std::function<void()> loop) { beside_ = std::thread(std::move(loop)); }

void SystemThreads::run(Task<> task) { threads_->run(std::move(task)); }

void SystemThreads::join() noexcept {
    if (beside_.joinable()) beside_.join();
    threads_.reset();
}

unsigned SystemThreads::seed() { return std::random_device{}(); }

}  // namespace stategraph::workers
