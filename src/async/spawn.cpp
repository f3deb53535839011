#include <stategraph/detail/async.hpp>

namespace stategraph::detail {

void Spawned::onEnd(void* self) {
    const std::unique_ptr<Spawned> spawned(static_cast<Spawned*>(self));
    spawned->end();
}

void start(std::unique_ptr<Spawned> spawned) {
    spawned->executor().submit([](void* self) { static_cast<Spawned*>(self)->start(); }, spawned.get());
    (void)spawned.release();
}

}  // namespace stategraph::detail
