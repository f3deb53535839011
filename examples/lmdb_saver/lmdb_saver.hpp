#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>

#include <stategraph/saver.hpp>

/// Opens or creates a saver that keeps threads in a folder of LMDB's, which several processes of one computer read and
/// write at once. A process opens it once, and a child of fork() opens it by itself. A put is a transaction: there is
/// one writer at a time, and readers wait for nobody. It waits for the disk once, twice if it is to `sync`. The file
/// takes as much of the disk as there are rows, and at most `bytes_max`. Names of more than some 470 bytes are refused.
/// A disk that fails while a page is read is a signal (SIGBUS), because LMDB maps the file into memory.
std::unique_ptr<stategraph::BaseCheckpointSaver> openLmdb(const std::filesystem::path& folder,
                                                          std::size_t bytes_max = std::size_t{16} << 30U);
