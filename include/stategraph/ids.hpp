#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <string>
#include <string_view>

#include <stategraph/detail/chrono.hpp>

namespace stategraph {

/// Names a thread: 1 to 119 bytes of any value. They are stored inline, so copying a configuration never allocates.
///
/// Errors: a longer id throws InvalidArgumentError when it is created, and an empty one when it is used.
class ThreadId {
public:
    static constexpr std::size_t size_max = 119;

    ThreadId() noexcept {}  // not defaulted: `= {}` would fill all its bytes with zeros
    ThreadId(const ThreadId& other) noexcept { *this = other; }
    ThreadId& operator=(const ThreadId& other) noexcept {
        size_ = other.size_;
        std::memcpy(text_, other.text_, size_);
        return *this;
    }
    ThreadId(const char* text) : ThreadId(std::string_view(text)) {}
    ThreadId(const std::string& text) : ThreadId(std::string_view(text)) {}
    ThreadId(std::string_view text) {
        if (text.size() > size_max) refuse(text.size());
        text.copy(text_, text.size());
        size_ = static_cast<unsigned char>(text.size());
    }

    bool empty() const noexcept { return size_ == 0; }
    std::string_view view() const noexcept { return {text_, size_}; }
    std::string toString() const { return std::string(view()); }
    operator std::string_view() const noexcept { return view(); }
    friend bool operator==(const ThreadId& a, const ThreadId& b) noexcept { return a.view() == b.view(); }
    friend std::ostream& operator<<(std::ostream& out, const ThreadId& id);

private:
    [[noreturn]] static void refuse(std::size_t size);
    unsigned char size_ = 0;
    char text_[size_max];
};

/// Names a checkpoint: a UUID version 7 whose order, as bytes and as text, is the order of creation in its thread.
///
/// `CheckpointId()` is "none". Making one from text that is not a UUID throws InvalidArgumentError.
class CheckpointId {
public:
    constexpr CheckpointId() noexcept = default;
    constexpr CheckpointId(std::uint64_t high, std::uint64_t low) noexcept : high_(high), low_(low) {}
    CheckpointId(std::string_view text);
    CheckpointId(const char* text) : CheckpointId(std::string_view(text)) {}
    CheckpointId(const std::string& text) : CheckpointId(std::string_view(text)) {}

    constexpr bool empty() const noexcept { return high_ == 0 && low_ == 0; }
    constexpr explicit operator bool() const noexcept { return !empty(); }
    constexpr std::uint64_t high() const noexcept { return high_; }
    constexpr std::uint64_t low() const noexcept { return low_; }
    /// When it was created, in whole milliseconds.
    std::chrono::system_clock::time_point time() const noexcept;
    std::string toString() const;

    /// 16 bytes, big endian: their order is the order of ids.
    void toBytes(char* out) const noexcept;
    static CheckpointId fromBytes(const char* bytes) noexcept;

    friend constexpr auto operator<=>(const CheckpointId&, const CheckpointId&) noexcept = default;
    friend std::ostream& operator<<(std::ostream& out, const CheckpointId& id);

private:
    std::uint64_t high_ = 0;
    std::uint64_t low_ = 0;
};

/// Names a task, and the interrupts that it raises: a hash of (checkpoint, namespace, step, node, path), so the same
/// task has the same id in every process. As text: 32 hexadecimal digits.
class TaskId {
public:
    constexpr TaskId() noexcept = default;
    constexpr TaskId(std::uint64_t high, std::uint64_t low) noexcept : high_(high), low_(low) {}
    /// Creates one from 32 hexadecimal digits; any other text throws InvalidArgumentError.
    TaskId(std::string_view text);
    TaskId(const char* text) : TaskId(std::string_view(text)) {}
    TaskId(const std::string& text) : TaskId(std::string_view(text)) {}

    constexpr bool empty() const noexcept { return high_ == 0 && low_ == 0; }
    constexpr std::uint64_t high() const noexcept { return high_; }
    constexpr std::uint64_t low() const noexcept { return low_; }
    std::string toString() const;
    void toBytes(char* out) const noexcept;
    static TaskId fromBytes(const char* bytes) noexcept;

    friend constexpr auto operator<=>(const TaskId&, const TaskId&) noexcept = default;
    friend std::ostream& operator<<(std::ostream& out, const TaskId& id);

private:
    std::uint64_t high_ = 0;
    std::uint64_t low_ = 0;
};

}  // namespace stategraph
