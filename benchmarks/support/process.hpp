#pragma once
#include <cstddef>

namespace bench {

/// Returns the bytes of this process that are in memory, from /proc/self/statm, or 0 if that file does not exist.
std::size_t residentBytes();
/// Returns the bytes that malloc has allocated and that were not freed.
std::size_t heapBytes();
/// Returns the number of open file descriptors, from /proc/self/fd, or 0 if that folder does not exist.
std::size_t openFiles();
/// Returns the bytes that this process has had a disk write, from /proc/self/io, or 0 if that file does not exist.
std::size_t bytesToDisk();
/// Returns to the system the memory that malloc keeps for later, so that residentBytes shows what is in use.
void trimHeap();

}  // namespace bench
