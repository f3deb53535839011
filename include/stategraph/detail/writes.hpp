#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include <stategraph/detail/log.hpp>
#include <stategraph/detail/value_ops.hpp>

namespace stategraph::detail {

using ChannelIndex = std::uint16_t;
/// The index of an operation that carries its channel's name and does not know its index yet.
inline constexpr ChannelIndex channel_by_name = 0xFFFF;

/// One operation on one channel. The value follows it directly, or there is a pointer to it.
struct alignas(16) Op {
    const ValueOps* type;  // null: the operation has no value (a clear)
    std::uint32_t next;    // offset of the next operation
    ChannelIndex channel;
    checkpoint::WriteKind kind;
    bool is_item;  // the value is one element for a channel that holds many

    void* value() noexcept {
        void* place = this + 1;
        return type == nullptr || type->in_place ? place : *static_cast<void**>(place);
    }
    const void* value() const noexcept { return const_cast<Op*>(this)->value(); }
    template <class T>
    T& as() noexcept {
        return *static_cast<T*>(value());
    }
    template <class T>
    bool holds() const noexcept {
        return type != nullptr && type->type == typeKey<T>();
    }
    /// Replaces the value by one that undoing needs. It must not be used for a trivial value (except items), because
    /// the new value would not be destroyed.
    template <class T>
    void keep(T old) {
        assert(type == nullptr || !type->trivial || is_item);
        void* kept = kept_ops<T>.allocateFor([&](void* place) { ::new (place) T(std::move(old)); });
        destroyValue();
        *reinterpret_cast<void**>(this + 1) = kept;
        type = &kept_ops<T>;
    }
    void destroyValue() noexcept {
        if (type == nullptr) return;
        void* old = value();
        type->destroy(old);
        if (!type->in_place) type->deallocate(old);
    }

private:
    template <class T>
    static constexpr ValueOps kept_ops = {
        .type = typeKey<T>(),
        .size = sizeof(T),
        .alignment = alignof(T),
        .in_place = false,
        .destroy = [](void* value) noexcept { static_cast<T*>(value)->~T(); },
        .relocate = nullptr,
        .copy = nullptr,
        .encode = nullptr,
        .decode = nullptr,
    };
};

/// The operations a task returned, in order. Small ones are in the object itself, so a node that sets a few members
/// allocates nothing.
class Writes {
public:
    Writes() noexcept {}  // not defaulted: `{}` would fill all its bytes with zeros
    Writes(Writes&& other) noexcept { moveFrom(other); }
    Writes(const Writes& other) : Writes() {
        append(other);
    }  // if a copy throws, this object is destroyed together with the earlier copies
    Writes& operator=(Writes&& other) noexcept {
        if (this != &other) {
            clear();
            moveFrom(other);
        }
        return *this;
    }
    Writes& operator=(const Writes& other) {
        if (this != &other) {
            clear();
            append(other);
        }
        return *this;
    }
    ~Writes() { clear(); }

    bool empty() const noexcept { return size_ == 0; }
    void clear() noexcept {
        if (is_plain_) {
            size_ = 0;
        } else {
            destroyAll();
        }
    }
    void append(const Writes& other);
    /// Constructs an object of a class derived from this one, without additional members, in place of this one: `::new
    /// (place.at()) Derived(…); place.keep();`. If that throws, this is empty.
    class Replacement {
    public:
        explicit Replacement(Writes& place) noexcept : place_(&place) { place.clear(); }
        Replacement(const Replacement&) = delete;
        Replacement& operator=(const Replacement&) = delete;
        ~Replacement() {
            if (place_ != nullptr) ::new (at()) Writes();
        }
        void* at() const noexcept { return place_; }
        void keep() noexcept { place_ = nullptr; }

    private:
        Writes* place_;
    };

    template <class T, class V>
    void add(ChannelIndex channel, checkpoint::WriteKind kind, V&& value, bool is_item = false) {
        Op* op = push(&value_ops<T>, channel, kind, is_item);
        if constexpr (storedInPlace<T>()) {
            ::new (static_cast<void*>(op + 1)) T(std::forward<V>(value));
        } else {
            *reinterpret_cast<void**>(op + 1) =
                value_ops<T>.allocateFor([&](void* place) { ::new (place) T(std::forward<V>(value)); });
        }
        if (!value_ops<T>.trivial || is_item) is_plain_ = false;
        commit(op);
    }
    void addClear(ChannelIndex channel) {
        is_plain_ = false;  // undoing stores a value in it
        commit(push(nullptr, channel, checkpoint::WriteKind::clear, false));
    }
    /// Adds an operation whose value is read from CBOR.
    void addDecoded(const ValueOps& type, ChannelIndex channel, checkpoint::WriteKind kind, Decoder& in);

    class Iterator {
    public:
        Iterator(std::byte* data, std::uint32_t offset) noexcept : data_(data), offset_(offset) {}
        Op& operator*() const noexcept { return *reinterpret_cast<Op*>(data_ + offset_); }
        Iterator& operator++() noexcept {
            offset_ = (**this).next;
            return *this;
        }
        bool operator!=(const Iterator& other) const noexcept { return offset_ != other.offset_; }

    private:
        std::byte* data_;
        std::uint32_t offset_;
    };
    Iterator begin() noexcept { return {data_, 0}; }
    Iterator end() noexcept { return {data_, size_}; }

private:
    static constexpr std::uint32_t inline_size = 208;

    Op* push(const ValueOps* type, ChannelIndex channel, checkpoint::WriteKind kind, bool is_item) {
        const std::uint32_t value_size = type == nullptr || !type->in_place ? sizeof(void*) : type->size;
        const std::uint32_t next = size_ + static_cast<std::uint32_t>(sizeof(Op)) + ((value_size + 15U) & ~15U);
        if (next > capacity_) grow(next);
        return ::new (data_ + size_) Op{type, next, channel, kind, is_item};
    }
    void commit(Op* op) noexcept { size_ = op->next; }
    void moveFrom(Writes& other) noexcept {
        if (!other.is_plain_) {
            take(other);
            return;
        }
        // Copying a fixed size takes a few instructions; the bytes after the last operation do not matter.
        constexpr std::uint32_t usual_size = 64;
        if (other.size_ <= usual_size) {
            std::memcpy(inline_, other.inline_, usual_size);
        } else {
            std::memcpy(inline_, other.inline_, other.size_);
        }
        size_ = std::exchange(other.size_, 0);
    }
    void grow(std::uint32_t needed);
    void destroyAll() noexcept;
    void take(Writes& other) noexcept;
    static void relocate(std::byte* to, std::byte* from, std::uint32_t size) noexcept;

    std::byte* data_ = inline_;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = inline_size;
    // All values are trivial and lie in this object, so that nothing is destroyed and a move copies bytes.
    bool is_plain_ = true;
    alignas(16) std::byte inline_[inline_size];
};

}  // namespace stategraph::detail
