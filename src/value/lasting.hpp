#pragma once
#include <cstddef>
#include <new>

namespace stategraph::engine {

/// Holds a static object that is never destroyed, because threads of this library and runs in users' destructors may
/// use it while the process ends.
///
///     static Lasting<Table> table;
template <class T>
class Lasting {
public:
    Lasting() { ::new (static_cast<void*>(place_)) T(); }
    Lasting(const Lasting&) = delete;
    Lasting& operator=(const Lasting&) = delete;

    T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(place_)); }
    const T& operator*() const noexcept { return *std::launder(reinterpret_cast<const T*>(place_)); }

private:
    alignas(T) std::byte place_[sizeof(T)];
};

}  // namespace stategraph::engine
