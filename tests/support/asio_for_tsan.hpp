#pragma once
// Included ahead of everything in builds with ThreadSanitizer (cmake/Tests.cmake), which does not understand fences.
// Boost.Asio has two kinds: those around handlers, which only add to the order that its mutexes make and which
// BOOST_ASIO_DISABLE_FENCED_BLOCK leaves out; and the one before the last owner of a counted object deletes it, in
// whose place the count itself is read: the same order, in a form that it understands.
#include <boost/asio/detail/config.hpp>

#include <atomic>
#define atomic_thread_fence(order) atomic_load_explicit(&a, order)
#include <boost/asio/detail/atomic_count.hpp>
#undef atomic_thread_fence
