#pragma once
/// Values that are shared instead of copied.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/codec.hpp>
#include <stategraph/detail/wholly_storable.hpp>
#include <stategraph/value.hpp>

namespace stategraph {
namespace detail {

/// The encoding of a shared value, kept after its first encoding. Set once; safe from several threads.
class KeptEncoding {
public:
    /// Encodings of other sizes are not kept: a short one can be made again as fast, a long one takes too much memory.
    static constexpr std::size_t size_min = 64;
    static constexpr std::size_t size_max = std::size_t{64} * 1024;

    KeptEncoding() noexcept = default;
    KeptEncoding(const KeptEncoding&) = delete;
    KeptEncoding& operator=(const KeptEncoding&) = delete;
    ~KeptEncoding() { forget(); }

    /// Writes the kept encoding. Returns false, and writes nothing, if none is kept.
    bool put(Encoder& encoder) const {
        const Bytes* bytes = bytes_.load(std::memory_order_acquire);
        if (bytes == nullptr) return false;
        encoder.raw({bytes->data(), bytes->size});
        if (bytes->is_shallow) encoder.noteShallow(encoder.shallowBytes(), bytes->size);
        return true;
    }
    /// Keeps what has been written from `begin` on, when `encoder.shallowBytes()` was `shallow_before`. Does nothing if
    /// one is kept, if the size is out of bounds or if no memory is left.
    void keep(Encoder& encoder, std::size_t begin, std::uint32_t shallow_before) const;
    /// Must not run while another thread uses the object.
    void forget() noexcept {
        if (bytes_.load(std::memory_order_relaxed) != nullptr) drop();
    }

private:
    struct Bytes {
        std::size_t size;
        bool is_shallow;
        const char* data() const noexcept { return reinterpret_cast<const char*>(this + 1); }
    };
    void drop() noexcept;

    mutable std::atomic<const Bytes*> bytes_ = nullptr;
};

template <class T>
struct SharedBlock {
    template <class... A>
    explicit SharedBlock(A&&... given) : value(std::forward<A>(given)...) {}

    mutable std::atomic<std::uint32_t> owners = 1;
    KeptEncoding encoding;
    T value;
};

// Never destroyed: objects with static storage may read it while the process ends.
template <class T>
const T& emptyShared() {
    alignas(T) static unsigned char place[sizeof(T)];
    static const T* const value = ::new (static_cast<void*>(place)) T();
    return *value;
}

}  // namespace detail

/// An immutable value with shared ownership: copying a Shared copies a pointer and not the value.
///
/// A Shared<T> is stored, read, printed and described exactly as a T: `Shared` can be added to or removed from a
/// member's type without touching stored threads. It is never null: a default-constructed or moved-from one holds an
/// empty T, `T()`, without an allocation of its own. Creating one from a value costs one allocation.
///
/// The first encoding of the value is kept with it, if it has 64 bytes to 64 KiB, and copied when the value is encoded
/// again. So a Shared holds up to twice the value's size, and Codec<T> must depend on the value alone.
///
/// Threads: several threads may read, copy and encode Shareds of one value at the same time; the count is atomic. One
/// Shared object is as safe as an int: it must not be changed while another thread uses it.
template <class T>
class Shared {
    static_assert(std::is_same_v<T, std::remove_cvref_t<T>>, "stategraph: write sg::Shared<T>, without const or &");

public:
    using Type = T;

    Shared() noexcept = default;
    /// Copies a value into a block that copies share. Errors: std::bad_alloc, and those of T's constructor.
    Shared(const T& value) : block_(new Block(value)) {}
    Shared(T&& value) : block_(new Block(std::move(value))) {}
    Shared(const Shared& other) noexcept : block_(other.block_) {
        if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    Shared(Shared&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
    Shared& operator=(const Shared& other) noexcept {
        Shared(other).swap(*this);
        return *this;
    }
    Shared& operator=(Shared&& other) noexcept {
        Shared(std::move(other)).swap(*this);
        return *this;
    }
    ~Shared() { release(block_); }

    /// Valid as long as an owner of the value exists and does not edit it. The address is the same for all owners.
    const T& get() const { return block_ != nullptr ? block_->value : detail::emptyShared<T>(); }
    const T& operator*() const { return get(); }
    const T* operator->() const { return &get(); }

    /// Calls `change(T&)` on the value, in place if this is its only owner, else on a copy that this Shared then holds;
    /// other owners keep the value they have. Within `change` this Shared reads as empty. Errors: std::bad_alloc and
    /// those of T's copy constructor, with no effect; what `change` throws leaves the value as `change` left it.
    template <class F>
    void edit(F&& change) {
        Editing editing(*this);
        std::forward<F>(change)(editing.block->value);
    }

    /// Whether both own the same object: a cheap test that has false negatives for equal values.
    bool isSame(const Shared& other) const noexcept { return block_ == other.block_; }
    void swap(Shared& other) noexcept { std::swap(block_, other.block_); }
    friend void swap(Shared& a, Shared& b) noexcept { a.swap(b); }

    /// True for the same object without looking at the value, so a shared NaN equals itself.
    friend bool operator==(const Shared& a, const Shared& b) { return a.isSame(b) || a.get() == b.get(); }
    friend bool operator==(const Shared& a, const T& b) { return a.get() == b; }

private:
    friend struct Codec<Shared<T>>;
    using Block = detail::SharedBlock<T>;

    // Holds the block while it is changed, so that a reader of this Shared meanwhile does not see a half-changed value.
    struct Editing {
        explicit Editing(Shared& s) : block(s.takeOwn()), shared(s) { block->encoding.forget(); }
        Editing(const Editing&) = delete;
        Editing& operator=(const Editing&) = delete;
        ~Editing() { release(std::exchange(shared.block_, block)); }
        Block* block;
        Shared& shared;
    };
    Block* takeOwn() {
        if (block_ == nullptr) return new Block();
        if (block_->owners.load(std::memory_order_acquire) != 1) {
            Block* copy = new Block(std::as_const(block_->value));
            release(block_);
            block_ = copy;
        }
        return std::exchange(block_, nullptr);
    }
    static void release(Block* block) noexcept {
        if (block != nullptr && block->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block;
    }

    Block* block_ = nullptr;
};

/// `sg::share(value)`: a Shared of the value's type.
template <class T>
Shared<std::remove_cvref_t<T>> share(T&& value) {
    return Shared<std::remove_cvref_t<T>>(std::forward<T>(value));
}

/// Stored as the value that it holds; reading replaces the value, and other owners keep theirs.
template <class T>
struct Codec<Shared<T>> {
    static constexpr bool of_parts = true;  // storable if T is
    using stored_as = T;

    static void encode(Encoder& encoder, const Shared<T>& value) {
        if (encoder.isForPeople() || value.block_ == nullptr) return detail::encodeItem(encoder, value.get());
        const detail::KeptEncoding& encoding = value.block_->encoding;
        if (encoding.put(encoder)) return;
        const std::uint32_t shallow_before = encoder.shallowBytes();
        const std::size_t begin = encoder.out().size();
        detail::encodeItem(encoder, value.get());
        encoding.keep(encoder, begin, shallow_before);
    }
    static void decode(Decoder& decoder, Shared<T>& value) {
        if constexpr (std::is_copy_constructible_v<T>) {
            value.edit([&decoder](T& held) { detail::decodeItem(decoder, held); });  // members without a key stay
        } else {
            T read{};
            detail::decodeItem(decoder, read);
            value = Shared<T>(std::move(read));
        }
    }
};

// Not storable, as an optional of an optional is not.
template <class T>
struct Codec<std::optional<Shared<std::optional<T>>>>;

namespace detail {

template <class T>
inline constexpr bool is_optional<Shared<T>> = is_optional<T>;

template <class T>
struct PartsOf<Shared<T>> {
    static constexpr bool storable = isWhollyStorable<T>();
};

template <class T>
struct Opened<Shared<T>> {
    using Type = T;
    static constexpr bool is_wrapped = true;
    static const T& read(const Shared<T>& value) { return value.get(); }
    template <class F>
    static void change(Shared<T>& value, F f) {
        value.edit(f);
    }
};

void printText(std::ostream& out, std::string_view text);

}  // namespace detail

/// Prints the value as T prints, or as JSON where T has no operator.
template <class T>
    requires Encodable<T>
std::ostream& operator<<(std::ostream& out, const Shared<T>& value) {
    if constexpr (requires { out << *value; }) {
        out << *value;
    } else {
        detail::printText(out, toJson(value));
    }
    return out;
}

}  // namespace stategraph
