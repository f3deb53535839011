#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/detail/chrono.hpp>
#include <stategraph/detail/print_enum.hpp>
#include <stategraph/postgres_queue.hpp>
#include <stategraph/value.hpp>

// Many threads of the queue at once: which ones, and what is done to them (PostgresQueue::change). Link
// `stategraph::queue`.
namespace stategraph {

/// Selects threads of the queue: those that fit all members that are given. One without members selects all.
struct QueueQuery {
    /// A queue, or the beginning of names of queues and `*`: "tenant/*".
    std::string queue = {};
    std::string graph = {};
    /// The worker that has the thread.
    std::string worker = {};
    std::optional<QueueStanding> standing = {};
    /// A text in the thread's error, or in the reason why it was set aside.
    std::string error = {};
    /// An object; the thread's metadata (QueuedInput::metadata) has each of its members with an equal value.
    Value metadata = {};
    /// When it was last claimed, given back or set aside, by the server's clock: not before, and not after.
    std::optional<std::chrono::system_clock::time_point> since_from = {};
    std::optional<std::chrono::system_clock::time_point> since_to = {};
    /// The beginning of its name.
    std::string thread_id_begin = {};

    /// Whether it selects all threads.
    bool isEmpty() const noexcept;
};

/// What is done to threads of the queue. To pause threads, set them aside; to resume them, `retry`.
enum class QueueChange : std::uint8_t {
    retry,      // PostgresQueue::retry; only threads that are set aside
    cancel,     // PostgresQueue::cancel; only threads that are not cancelled yet
    release,    // PostgresQueue::takeBack; only threads that a worker has
    set_aside,  // PostgresQueue::putAside; only threads that are not set aside
};
/// How many changes there are.
constexpr std::size_t queue_changes = 4;
/// The name of a change, as in the enumeration.
const char* toString(QueueChange change) noexcept;

/// What a change would do.
struct QueuePreview {
    /// How many threads it would change.
    std::size_t count = 0;
    /// The first of them, in the order of names.
    std::vector<std::string> first = {};
};

/// Whether a queue is the one that is named, or fits a name that ends with `*`.
bool isQueueNamed(std::string_view pattern, std::string_view queue) noexcept;

}  // namespace stategraph
