#pragma once
#include <cstddef>

namespace bench {

/// Bytes of this process that are in memory, from /proc/self/statm; 0 where there is no such file.
std::size_t residentBytes();
/// Bytes that malloc has handed out and not got back.
std::size_t heapBytes();
/// Open file descriptors, from /proc/self/fd; 0 where there is no such folder.
std::size_t openFiles();
/// Gives back to the system what malloc keeps for later, so that residentBytes says what is in use.
void trimHeap();

}  // namespace bench
