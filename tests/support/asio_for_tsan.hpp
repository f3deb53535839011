#pragma once
// Included before everything else in builds with ThreadSanitizer (cmake/Rooms.cmake), which does not support fences.
// Boost.Asio uses two kinds of fences. Those around handlers only strengthen the order that its mutexes establish;
// BOOST_ASIO_DISABLE_FENCED_BLOCK removes them. The other kind precedes the deletion of a counted object by its last
// owner; this header replaces it by a read of the count, which establishes the same order in a form that
// ThreadSanitizer supports.
#include <boost/asio/detail/config.hpp>

#include <atomic>
#define atomic_thread_fence(order) atomic_load_explicit(&a, order)
#include <boost/asio/detail/atomic_count.hpp>
#undef atomic_thread_fence
