#include <stategraph/detail/writes.hpp>

namespace stategraph::detail {
namespace {

constexpr std::align_val_t alignment{16};

}  // namespace

void Writes::destroyAll() noexcept {
    for (Op& op : *this) op.destroyValue();
    size_ = 0;
    if (data_ != inline_) {
        ::operator delete(data_, alignment);
        data_ = inline_;
        capacity_ = inline_size;
    }
    is_plain_ = true;
}

void Writes::append(const Writes& other) {
    if (other.is_plain_ && size_ == 0 && data_ == inline_) {
        std::memcpy(inline_, other.inline_, other.size_);
        size_ = other.size_;
        return;
    }
    is_plain_ = false;
    for (const Op& op : const_cast<Writes&>(other)) {
        Op* made = push(op.type, op.channel, op.kind, op.is_item);
        if (op.type != nullptr) {
            if (op.type->in_place) {
                op.type->copy(made + 1, op.value());
            } else {
                *reinterpret_cast<void**>(made + 1) =
                    op.type->allocateFor([&op](void* place) { op.type->copy(place, op.value()); });
            }
        }
        commit(made);
    }
}

void Writes::addDecoded(const ValueOps& type, ChannelIndex channel, checkpoint::WriteKind kind, Decoder& in) {
    is_plain_ = false;
    Op* op = push(&type, channel, kind, false);
    if (type.in_place) {
        type.decode(in, op + 1);
    } else {
        *reinterpret_cast<void**>(op + 1) = type.allocateFor([&](void* place) { type.decode(in, place); });
    }
    commit(op);
}

void Writes::grow(std::uint32_t needed) {
    std::uint32_t capacity = capacity_ * 2;
    while (capacity < needed) capacity *= 2;
    auto* data = static_cast<std::byte*>(::operator new(capacity, alignment));
    relocate(data, data_, size_);
    if (data_ != inline_) ::operator delete(data_, alignment);
    data_ = data;
    capacity_ = capacity;
    is_plain_ = false;
}

void Writes::take(Writes& other) noexcept {
    if (other.data_ == other.inline_) {
        relocate(inline_, other.inline_, other.size_);
    } else {
        data_ = std::exchange(other.data_, other.inline_);
        capacity_ = std::exchange(other.capacity_, inline_size);
    }
    size_ = std::exchange(other.size_, 0);
    is_plain_ = false;
    other.is_plain_ = true;
}

void Writes::relocate(std::byte* to, std::byte* from, std::uint32_t size) noexcept {
    for (std::uint32_t at = 0; at < size;) {
        Op& op = *reinterpret_cast<Op*>(from + at);
        Op* moved = ::new (to + at) Op(op);
        if (op.type == nullptr || !op.type->in_place) {
            std::memcpy(moved + 1, &op + 1, sizeof(void*));
        } else {
            op.type->relocate(moved + 1, &op + 1);
        }
        at = op.next;
    }
}

}  // namespace stategraph::detail
