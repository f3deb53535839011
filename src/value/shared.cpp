#include <stategraph/shared.hpp>

#include <cstring>

namespace stategraph::detail {

void KeptEncoding::keep(Encoder& encoder, std::size_t begin, std::uint32_t shallow_before) const {
    const std::string_view cbor = std::string_view(encoder.out()).substr(begin);
    if (cbor.size() < size_min || cbor.size() > size_max) return;
    const bool is_shallow = !isDeeperThan(cbor, shallow_levels);
    if (is_shallow) encoder.noteShallow(shallow_before, cbor.size());
    void* place = ::operator new(sizeof(Bytes) + cbor.size(), std::nothrow);
    if (place == nullptr) return;
    auto* bytes = ::new (place) Bytes{cbor.size(), is_shallow};
    std::memcpy(bytes + 1, cbor.data(), cbor.size());
    const Bytes* none = nullptr;
    if (!bytes_.compare_exchange_strong(none, bytes, std::memory_order_release, std::memory_order_relaxed)) {
        ::operator delete(place);  // another thread created it first
    }
}

void KeptEncoding::drop() noexcept {
    ::operator delete(const_cast<Bytes*>(bytes_.exchange(nullptr, std::memory_order_relaxed)));
}

}  // namespace stategraph::detail
