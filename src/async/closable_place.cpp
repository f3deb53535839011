#include "src/async/closable_place.hpp"

namespace stategraph::engine {

using detail::Work;

struct ClosablePlace::Posted {
    std::shared_ptr<ClosablePlace> place;
    Work work;

    static void run(void* context) {
        const std::unique_ptr<Posted> posted(static_cast<Posted*>(context));
        if (posted->place->enter()) {
            posted->work.run(posted->work.context);
            posted->place->exit();
        } else {
            posted->work.drop(posted->work.context);
        }
    }
    static void drop(void* context) {
        const std::unique_ptr<Posted> posted(static_cast<Posted*>(context));
        posted->work.drop(posted->work.context);
    }
};

void ClosablePlace::post(void* place, const Work& work) {
    auto& self = *static_cast<ClosablePlace*>(place);
    auto posted = std::make_unique<Posted>(self.shared_from_this(), work);
    self.home_.ops->post(self.home_.place, {Posted::run, Posted::drop, posted.get()});
    (void)posted.release();
}

bool ClosablePlace::enter() noexcept {
    const detail::LockGuard lock(mutex_);
    if (is_closed_) return false;
    ++inside_;
    return true;
}

void ClosablePlace::exit() noexcept {
    const detail::LockGuard lock(mutex_);
    if (--inside_ == 0) left_.notify_all();
}

void ClosablePlace::close() noexcept {
    detail::UniqueLock lock(mutex_);
    is_closed_ = true;
    left_.wait(lock.native(), [this]() SG_REQUIRES(mutex_) { return inside_ == 0; });
}

}  // namespace stategraph::engine
