#pragma once
#include <cstddef>

// A global operator new that can be told to fail on one thread (failing_new.cpp). In builds with a sanitizer, the
// sanitizer's own operator new is used; then `available` is false and nothing fails.
namespace failing_new {

bool available() noexcept;

/// Starts to count the allocations of this thread; `count` of them, beginning with number `fail_at` (from 1), throw
/// std::bad_alloc.
void arm(std::size_t fail_at, std::size_t count = 1) noexcept;
/// Starts to count the allocations of this thread without letting any fail.
void count() noexcept;
/// Stops counting and returns the number of allocations since the start.
std::size_t counted() noexcept;
/// Ends the failures and returns how many allocations failed.
std::size_t disarm() noexcept;

}  // namespace failing_new
