#include <stategraph/shared.hpp>

#include <cstring>

namespace stategraph::detail {

void KeptEncoding::keep(std::string_view cbor) const noexcept {
    if (cbor.size() < size_min || cbor.size() > size_max) return;
    void* place = ::operator new(sizeof(Bytes) + cbor.size(), std::nothrow);
    if (place == nullptr) return;
    auto* bytes = ::new (place) Bytes{cbor.size()};
    std::memcpy(bytes + 1, cbor.data(), cbor.size());
    const Bytes* none = nullptr;
    if (!bytes_.compare_exchange_strong(none, bytes, std::memory_order_release, std::memory_order_relaxed)) {
        ::operator delete(place);  // another thread was first
    }
}

void KeptEncoding::drop() noexcept {
    ::operator delete(const_cast<Bytes*>(bytes_.exchange(nullptr, std::memory_order_relaxed)));
}

}  // namespace stategraph::detail
