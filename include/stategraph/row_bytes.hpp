#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace stategraph {

/// The bytes of a stored row, as savers return them. They never change, and copies share them. Threads: copies may be
/// used on different threads. Source: src/value/row_bytes.cpp.
class RowBytes {
public:
    /// Holds no bytes.
    RowBytes() noexcept = default;
    /// Takes ownership of the string. Errors: std::bad_alloc. Cost: one allocation.
    RowBytes(std::string bytes);
    /// Copies the bytes. Errors: std::bad_alloc. Cost: one allocation. For many rows see RowBuffer.
    RowBytes(std::string_view bytes);
    RowBytes(const char* bytes) : RowBytes(std::string_view(bytes)) {}
    /// Refers to bytes that stay unchanged at their place as long as `owner` exists.
    RowBytes(std::string_view bytes, std::shared_ptr<const void> owner) noexcept
        : bytes_(bytes), owner_(std::move(owner)) {}

    operator std::string_view() const noexcept { return bytes_; }
    std::string_view view() const noexcept { return bytes_; }
    const char* data() const noexcept { return bytes_.data(); }
    std::size_t size() const noexcept { return bytes_.size(); }
    bool empty() const noexcept { return bytes_.empty(); }

    friend bool operator==(const RowBytes& a, const RowBytes& b) noexcept { return a.bytes_ == b.bytes_; }
    friend bool operator==(const RowBytes& a, std::string_view b) noexcept { return a.bytes_ == b; }
    friend bool operator==(const RowBytes& a, const std::string& b) noexcept { return a.bytes_ == b; }
    friend bool operator==(const RowBytes& a, const char* b) noexcept { return a.bytes_ == b; }

private:
    std::string_view bytes_;
    std::shared_ptr<const void> owner_;
};

/// Memory for the bytes of rows that are read together: a saver that reads 10,000 rows allocates a few dozen times
/// instead of once per row. Each row keeps alive the part of the buffer that contains it, at most 256 KiB, so copy a
/// few rows of many if you keep them for long. Threads: one at a time; its rows may be used on others meanwhile.
class RowBuffer {
public:
    /// `expected` is the total size of the rows in bytes, if that is known.
    explicit RowBuffer(std::size_t expected = 0) noexcept : expected_(expected) {}

    /// Makes a row with a copy of the bytes. Errors: std::bad_alloc.
    RowBytes add(std::string_view bytes);

private:
    std::size_t expected_;
    std::shared_ptr<char> part_;
    char* next_ = nullptr;
    std::size_t left_ = 0;
    std::size_t taken_ = 0;
};

}  // namespace stategraph
