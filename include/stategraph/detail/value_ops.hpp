#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/codec.hpp>
#include <stategraph/detail/wholly_storable.hpp>

namespace stategraph::detail {

/// Identifies a type within the process.
using TypeKey = const void*;
template <class T>
inline constexpr char type_key_anchor = 0;
template <class T>
constexpr TypeKey typeKey() noexcept {
    return &type_key_anchor<std::remove_cv_t<T>>;
}

/// What the engine can do with a value whose type it does not know.
struct ValueOps {
    TypeKey type;
    std::uint32_t size;
    std::uint32_t alignment;
    bool in_place;  // small and nothrow movable: it is in the write buffer; otherwise the buffer holds a pointer to it
    void (*destroy)(void*) noexcept;
    void (*relocate)(void* to, void* from) noexcept;
    void (*copy)(void* to, const void* from);
    void (*encode)(Encoder&, const void*);
    void (*decode)(Decoder&, void* to);  // decodes into a constructed object; null: the type is never stored
    std::string_view (*name)(const void*) = nullptr;  // the channel's name, for values that carry it
    bool trivial = false;                             // in place, moved by copying its bytes, with nothing to destroy
    bool is_any_shape = false;                        // read as whichever type is needed, as Value is

    /// Allocates memory for a value that is not stored in place, with the global operator new, even if its type has its
    /// own operator new. Errors: std::bad_alloc.
    void* allocate() const {
        return alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? ::operator new(size, std::align_val_t(alignment))
                                                            : ::operator new(size);
    }
    void deallocate(void* place) const noexcept {
        if (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            ::operator delete(place, std::align_val_t(alignment));
        } else {
            ::operator delete(place);
        }
    }
    /// Allocates memory in which `make(place)` constructs a value. Errors: std::bad_alloc, and those of `make`.
    template <class F>
    void* allocateFor(F make) const {
        void* place = allocate();
        try {
            make(place);
        } catch (...) {
            deallocate(place);
            throw;
        }
        return place;
    }
};

template <class T>
constexpr bool storedInPlace() {
    return std::is_nothrow_move_constructible_v<T> && sizeof(T) <= 128 && alignof(T) <= 16;
}

// Encodes a value, or null if its type cannot be stored, as in an untracked channel.
template <class T>
void encodeOrNull(Encoder& out, const T& value) {
    if constexpr (wholly_storable<T>) {
        encodeItem(out, value);
    } else {
        out.null();
    }
}

template <class T>
void constructDecoded(Decoder& in, void* to) {
    auto* value = ::new (to) T();
    try {
        decodeItem(in, *value);
    } catch (...) {
        value->~T();
        throw;
    }
}
template <class T>
constexpr auto decodeOf() -> void (*)(Decoder&, void*) {
    if constexpr (wholly_storable<T>) {
        return constructDecoded<T>;
    } else {
        return nullptr;
    }
}

template <class T>
inline constexpr ValueOps value_ops = {
    .type = typeKey<T>(),
    .size = sizeof(T),
    .alignment = alignof(T),
    .in_place = storedInPlace<T>(),
    .destroy = [](void* value) noexcept { static_cast<T*>(value)->~T(); },
    .relocate =
        [](void* to, void* from) noexcept {
            if constexpr (std::is_move_constructible_v<T>)
                ::new (to) T(std::move(*static_cast<T*>(from)));  // a state that cannot be moved was refused before
            static_cast<T*>(from)->~T();
        },
    .copy =
        [](void* to, const void* from) {
            if constexpr (std::is_copy_constructible_v<T>) ::new (to) T(*static_cast<const T*>(from));
        },
    .encode = [](Encoder& out, const void* value) { encodeOrNull(out, *static_cast<const T*>(value)); },
    .decode = decodeOf<T>(),
    .trivial = storedInPlace<T>() && std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
    .is_any_shape = requires {Codec<T>::is_any_shape;
}  // namespace stategraph::detail
,
}
;

/// A value of any storable type that is shared and never changed: the payload of a Send.
class AnyValue {
public:
    AnyValue() noexcept = default;
    AnyValue(const ValueOps& type, std::shared_ptr<const void> value) noexcept
        : type_(&type), value_(std::move(value)) {}

    template <class T>
    static AnyValue of(T value) {
        static_assert(
            wholly_storable<T>,
            "stategraph: this type cannot be stored; give it a fields() table or specialise stategraph::Codec for it");
        return {value_ops<T>, std::make_shared<const T>(std::move(value))};
    }

    bool empty() const noexcept { return value_ == nullptr; }
    TypeKey type() const noexcept { return type_ ? type_->type : nullptr; }
    bool isAnyShape() const noexcept { return type_ != nullptr && type_->is_any_shape; }
    const void* get() const noexcept { return value_.get(); }
    void encode(Encoder& out) const {
        if (value_) {
            type_->encode(out, value_.get());
        } else {
            out.null();
        }
    }

private:
    const ValueOps* type_ = nullptr;
    std::shared_ptr<const void> value_;
};

}  // namespace stategraph::detail
