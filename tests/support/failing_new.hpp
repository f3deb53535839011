#pragma once
#include <cstddef>

// A global operator new that can be told to fail on one thread (failing_new.cpp). Sanitizers have one of their own,
// which stays: then
// `available` is false and nothing fails.
namespace failing_new {

bool available() noexcept;

/// From here on allocations of this thread count, and those from number `fail_at` (from 1) on, `count` of them, throw
/// std::bad_alloc.
void arm(std::size_t fail_at, std::size_t count = 1) noexcept;
/// From here on allocations of this thread count, and none fails.
void count() noexcept;
/// How many there were since; nothing counts any more.
std::size_t counted() noexcept;
/// Nothing fails any more. Returns how many allocations failed.
std::size_t disarm() noexcept;

}  // namespace failing_new
