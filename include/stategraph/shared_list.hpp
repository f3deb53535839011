#pragma once
/// Lists that are shared instead of copied.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/codec.hpp>
#include <stategraph/error.hpp>

namespace stategraph {
namespace detail {

/// The elements of SharedLists: the head of an allocation, followed by memory for `capacity` elements. Each owner sees
/// as many of the first ones as it counts; `used` of them exist.
template <class T>
struct ListBlock {
    std::atomic<std::uint32_t> owners = 1;
    std::atomic<std::size_t> used = 0;
    const std::size_t capacity;

    explicit ListBlock(std::size_t room) noexcept : capacity(room) {}
    ListBlock(const ListBlock&) = delete;
    ListBlock& operator=(const ListBlock&) = delete;
    ~ListBlock() { std::destroy_n(items(), used.load(std::memory_order_relaxed)); }

    static constexpr std::size_t alignment = std::max(alignof(std::atomic<std::size_t>), alignof(T));
    static constexpr std::size_t offset =
        (2 * sizeof(std::atomic<std::size_t>) + sizeof(std::size_t) + alignof(T) - 1) / alignof(T) * alignof(T);
    static constexpr std::size_t room_max = (PTRDIFF_MAX - offset) / sizeof(T);

    T* items() noexcept { return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(this) + offset); }
    bool isOwned() const noexcept { return owners.load(std::memory_order_acquire) == 1; }

    static ListBlock* make(std::size_t room) {
        if (room > room_max) throw std::bad_alloc();
        const std::size_t size = offset + room * sizeof(T);
        if constexpr (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            return ::new (::operator new(size, std::align_val_t{alignment})) ListBlock(room);
        } else {
            return ::new (::operator new(size)) ListBlock(room);
        }
    }
    static void release(ListBlock* block) noexcept {
        if (block == nullptr || block->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        block->~ListBlock();
        if constexpr (alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            ::operator delete(static_cast<void*>(block), std::align_val_t{alignment});
        } else {
            ::operator delete(static_cast<void*>(block));
        }
    }
};

template <class It>
concept MultiPassIterator =
    std::is_base_of_v<std::forward_iterator_tag, typename std::iterator_traits<It>::iterator_category>;

}  // namespace detail

/// A list with shared ownership of its elements: copying one copies a pointer and a count, and adding to the end of a
/// copy adds in place, even if others have the elements before it. Elements in its middle are changed in place if this
/// is their only owner, else in a copy of the whole list.
///
///     struct Chat {
///         sg::SharedList<sg::Message> messages;
///         static constexpr auto channels() { return sg::channels(sg::channel<&Chat::messages>(sg::addMessages)); }
///     };
///
/// It is stored, read and described exactly as a std::vector<T>: one can replace the other without touching stored
/// threads. Use it for lists that become long: a state is copied for the result of a run, for simultaneous tasks, and
/// for a thread that stays in memory (warm_threads.hpp).
///
/// Only const iterators are given: an iterator or reference is valid until this list is changed or destroyed. Errors:
/// std::bad_alloc and those of T's copy constructor, with no effect.
///
/// Threads: several threads may read, copy and add to SharedLists of the same elements at the same time. One SharedList
/// object is as safe as an int: it must not be changed while another thread uses it. Elements that this list no longer
/// has (`truncate`, `erase`) may live as long as another owner of the same elements.
template <class T>
class SharedList {
    static_assert(std::is_same_v<T, std::remove_cvref_t<T>>, "stategraph: write sg::SharedList<T>, without const or &");
    using Block = detail::ListBlock<T>;

public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = const T&;
    using const_reference = const T&;
    using iterator = const T*;
    using const_iterator = const T*;

    SharedList() noexcept = default;
    SharedList(std::initializer_list<T> items) { append(items.begin(), items.end()); }
    SharedList(const std::vector<T>& items) { append(items.begin(), items.end()); }
    SharedList(std::vector<T>&& items) {
        append(std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
    }
    template <detail::MultiPassIterator It>
    SharedList(It first, It last) {
        append(first, last);
    }
    SharedList(const SharedList& other) noexcept : block_(other.block_), size_(other.size_) {
        if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    SharedList(SharedList&& other) noexcept
        : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    SharedList& operator=(const SharedList& other) noexcept {
        SharedList(other).swap(*this);
        return *this;
    }
    SharedList& operator=(SharedList&& other) noexcept {
        SharedList(std::move(other)).swap(*this);
        return *this;
    }
    ~SharedList() { Block::release(block_); }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    const T* data() const noexcept { return block_ != nullptr ? block_->items() : nullptr; }
    const_iterator begin() const noexcept { return data(); }
    const_iterator end() const noexcept { return data() + size_; }
    const_iterator cbegin() const noexcept { return begin(); }
    const_iterator cend() const noexcept { return end(); }
    auto rbegin() const noexcept { return std::make_reverse_iterator(end()); }
    auto rend() const noexcept { return std::make_reverse_iterator(begin()); }
    /// `index` is less than `size()`; so are those of `front` and `back` in a list that is not empty.
    const T& operator[](std::size_t index) const noexcept { return data()[index]; }
    const T& front() const noexcept { return data()[0]; }
    const T& back() const noexcept { return data()[size_ - 1]; }
    /// Returns an element. Errors: InvalidArgumentError if there is no such element.
    const T& at(std::size_t index) const {
        if (index >= size_) failIndex(index);
        return data()[index];
    }
    operator std::span<const T>() const noexcept { return {data(), size_}; }
    std::vector<T> toVector() const { return std::vector<T>(begin(), end()); }

    /// Cost: amortised constant. If the memory is used up, or another owner has added elements after the end of this
    /// list, the elements are copied, or moved if this is their only owner.
    template <class... A>
    const T& emplace_back(A&&... value) {
        if (T* const place = claim(1)) {
            try {
                std::construct_at(place, std::forward<A>(value)...);
            } catch (...) {
                block_->used.store(size_, std::memory_order_release);
                throw;
            }
        } else {
            Block* const block = Block::make(roomFor(1));
            try {
                // The argument may be one of the elements.
                std::construct_at(block->items() + size_, std::forward<A>(value)...);
            } catch (...) {
                Block::release(block);
                throw;
            }
            moveTo(block, 1);
        }
        return data()[size_++];
    }
    void push_back(const T& item) { emplace_back(item); }
    void push_back(T&& item) { emplace_back(std::move(item)); }
    /// Adds elements at the end; they must not be this list's own.
    template <detail::MultiPassIterator It>
    void append(It first, It last) {
        const auto more = static_cast<std::size_t>(std::distance(first, last));
        if (more == 0) return;
        if (T* const place = claim(more)) {
            try {
                std::uninitialized_copy(first, last, place);
            } catch (...) {
                block_->used.store(size_, std::memory_order_release);
                throw;
            }
        } else {
            Block* const block = Block::make(roomFor(more));
            try {
                std::uninitialized_copy(first, last, block->items() + size_);
            } catch (...) {
                Block::release(block);
                throw;
            }
            moveTo(block, more);
        }
        size_ += more;
    }
    /// Appends the elements of another list, which are moved if it is their only owner; the size of that list stays the
    /// same.
    void append(SharedList&& other) {
        if (block_ == nullptr) {
            *this = other;
        } else if (other.block_ != nullptr && other.block_ != block_ && other.block_->isOwned()) {
            T* const items = other.block_->items();
            append(std::make_move_iterator(items), std::make_move_iterator(items + other.size_));
        } else {
            const SharedList more(other);
            append(more.begin(), more.end());
        }
    }
    /// Cost: that of `push_back` at the end, otherwise in proportion to the list.
    template <detail::MultiPassIterator It>
    void insert(const_iterator position, It first, It last) {
        if (position == end()) return append(first, last);
        SharedList all(begin(), position);
        all.append(first, last);
        all.append(position, end());
        swap(all);
    }
    void insert(const_iterator position, T item) {
        if (position == end()) {
            push_back(std::move(item));
        } else {
            insert(position, std::make_move_iterator(&item), std::make_move_iterator(&item + 1));
        }
    }

    /// Replaces an element. Errors: InvalidArgumentError if there is none.
    void set(std::size_t index, T item) {
        edit(index, [&item](T& held) { held = std::move(item); });
    }
    /// Calls `change(T&)` on an element. What `change` throws leaves the element as `change` left it.
    template <class F>
    void edit(std::size_t index, F&& change) {
        if (index >= size_) failIndex(index);
        own();
        std::forward<F>(change)(block_->items()[index]);
    }
    void erase(const_iterator position) { erase(position, position + 1); }
    void erase(const_iterator first, const_iterator last) {
        const auto gone = static_cast<std::size_t>(last - first);
        if (gone == 0) return;
        if (last != end()) {
            const auto at = first - begin();
            own();
            T* const items = block_->items();
            std::move(items + at + gone, items + size_, items + at);
        }
        truncate(size_ - gone);
    }
    /// Keeps the first elements, at most `size()`.
    void truncate(std::size_t size) noexcept {
        size_ = size;
        if (block_ != nullptr && block_->isOwned()) dropTail();
    }
    void pop_back() noexcept { truncate(size_ - 1); }
    void clear() noexcept { truncate(0); }
    void reserve(std::size_t size) {
        if (size <= capacity()) return;
        moveTo(Block::make(size), 0);
    }
    std::size_t capacity() const noexcept { return block_ != nullptr ? block_->capacity : 0; }

    /// Whether both own the same elements, and equally many: a cheap test that may be false for equal lists.
    bool isSame(const SharedList& other) const noexcept { return block_ == other.block_ && size_ == other.size_; }
    /// The elements for changes, if this list is their only owner; otherwise null.
    T* ownItems() noexcept { return block_ != nullptr && block_->isOwned() ? block_->items() : nullptr; }
    void swap(SharedList& other) noexcept {
        std::swap(block_, other.block_);
        std::swap(size_, other.size_);
    }
    friend void swap(SharedList& a, SharedList& b) noexcept { a.swap(b); }

    /// True for the same elements without looking at them.
    friend bool operator==(const SharedList& a, const SharedList& b) {
        return a.isSame(b) || std::equal(a.begin(), a.end(), b.begin(), b.end());
    }
    friend bool operator==(const SharedList& a, const std::vector<T>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    [[noreturn]] void failIndex(std::size_t index) const {
        throw InvalidArgumentError("the list has " + std::to_string(size_) + " elements, and none at " +
                                   std::to_string(index));
    }
    std::size_t roomFor(std::size_t more) const {
        if (more > Block::room_max - size_) throw std::bad_alloc();
        return std::max({size_ + more, std::min(2 * size_, Block::room_max), std::size_t{4}});
    }
    // Destroys elements that this list dropped while others had them.
    void dropTail() noexcept {
        const std::size_t used = block_->used.load(std::memory_order_relaxed);
        if (used == size_) return;
        std::destroy(block_->items() + size_, block_->items() + used);
        block_->used.store(size_, std::memory_order_relaxed);
    }
    // The place after the last element in which this list may construct `more` elements. Null if there is none.
    T* claim(std::size_t more) noexcept {
        if (block_ == nullptr || block_->capacity - size_ < more) return nullptr;
        if (block_->isOwned()) {
            dropTail();
            block_->used.store(size_ + more, std::memory_order_relaxed);
            return block_->items() + size_;
        }
        std::size_t expected = size_;
        const bool is_end = block_->used.compare_exchange_strong(expected, size_ + more, std::memory_order_acq_rel,
                                                                 std::memory_order_relaxed);
        return is_end ? block_->items() + size_ : nullptr;
    }
    // Moves or copies the elements in front of the `added` ones that the new block already contains, and takes the
    // block over. If no memory is left for a copy, the block is destroyed with its elements.
    void moveTo(Block* block, std::size_t added) {
        T* const to = block->items();
        if (block_ != nullptr && std::is_nothrow_move_constructible_v<T> && block_->isOwned()) {
            std::uninitialized_move_n(block_->items(), size_, to);
        } else if (size_ > 0) {
            try {
                std::uninitialized_copy_n(begin(), size_, to);
            } catch (...) {
                std::destroy_n(to + size_, added);
                Block::release(block);
                throw;
            }
        }
        block->used.store(size_ + added, std::memory_order_relaxed);
        Block::release(std::exchange(block_, block));
    }
    void own() {
        if (!block_->isOwned()) moveTo(Block::make(std::max(size_, std::size_t{1})), 0);
    }

    Block* block_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace stategraph
