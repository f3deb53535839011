#include <stategraph/detail/async.hpp>

#include "src/task/effect_put.hpp"

namespace stategraph::detail {

EffectStored::~EffectStored() {
    if (put_) put_->forget();
}

bool EffectStored::suspend() noexcept {
    return put_->suspend([](void* waiting) noexcept { static_cast<Wakeup*>(waiting)->wake(); }, &wakeup_);
}

void EffectStored::await_resume() const {
    if (put_) put_->check();
}

}  // namespace stategraph::detail
