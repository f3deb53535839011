#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <stategraph/detail/writes.hpp>

namespace stategraph::detail {

/// Remembers where the items that a task adds to a list are in the buffer into which its writes have been encoded, so
/// that the list's operation can copy their bytes. It remembers only the first few; the others are encoded again. Valid
/// until the writes or the buffer change.
class EncodedItems {
public:
    void clear() noexcept { count_ = 0; }
    bool empty() const noexcept { return count_ == 0; }
    /// Notes that the item of `op` is `size` bytes at `begin`. Items for which there is no room are skipped.
    void add(const Op& op, std::size_t begin, std::size_t size) noexcept {
        if (count_ < items_.size()) items_[count_++] = {&op, begin, size};
    }
    /// Returns an empty view if the item is not known.
    std::string_view find(const Op& op) const noexcept {
        for (std::size_t i = 0; i < count_; ++i) {
            if (items_[i].op == &op) return std::string_view(*buffer_).substr(items_[i].begin, items_[i].size);
        }
        return {};
    }

    explicit EncodedItems(const std::string& buffer) noexcept : buffer_(&buffer) {}
    EncodedItems(const EncodedItems&) = delete;
    EncodedItems& operator=(const EncodedItems&) = delete;

private:
    struct Item {
        const Op* op;
        std::size_t begin;
        std::size_t size;
    };
    const std::string* buffer_;
    std::array<Item, 4> items_;
    std::size_t count_ = 0;
};

}  // namespace stategraph::detail
