#include "storage/sqlite/sqlite_log_index.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

// The index begins with its header, twice (https://www.sqlite.org/walformat.html, section 2.1). Numbers have the byte
// order of the machine, and the salts are as in the log.
//
//   header := version zero change is_initialized endian page_size frames pages checksum checksum salt salt sum sum
namespace stategraph::checkpoint {
namespace {

constexpr std::size_t index_header_size = 48;
constexpr std::size_t index_sum_at = 40;
constexpr std::uint32_t index_version = 3007000;

std::uint32_t indexNumber(std::string_view header, std::size_t at) {
    std::uint32_t number = 0;
    std::memcpy(&number, header.data() + at, sizeof number);
    return number;
}

bool isWholeIndex(std::string_view header) {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    for (std::size_t at = 0; at < index_sum_at; at += 8) {
        a += indexNumber(header, at) + b;
        b += indexNumber(header, at + 4) + a;
    }
    constexpr std::size_t is_initialized_at = 12;
    return indexNumber(header, 0) == index_version && header[is_initialized_at] != 0 &&
           a == indexNumber(header, index_sum_at) && b == indexNumber(header, index_sum_at + 4);
}

// SQLite's locks are on this file. A process that closes a file loses its locks on it, so it is opened by a thread with
// a table of files of its own: the locks belong to that of the other threads.
std::string readApart(const std::string& path) {
    std::array<char, 2 * index_header_size> bytes{};
    ssize_t size = 0;
    try {
        std::thread([&]() noexcept {
            if (::unshare(CLONE_FILES) != 0) return;
            const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
            if (file < 0) return;
            size = ::pread(file, bytes.data(), bytes.size(), 0);
            ::close(file);
        }).join();
    } catch (const std::system_error&) {  // no thread can be started: then the log has to do without
    }
    return {bytes.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
}

}  // namespace

std::optional<SqliteLogIndex> readSqliteLogIndex(const std::string& path) {
    constexpr std::size_t frames_at = 16;
    constexpr std::size_t salts_at = 32;
    const std::string both = readApart(path.substr(0, path.size() - std::string_view("wal").size()) + "shm");
    if (both.size() < 2 * index_header_size) return std::nullopt;
    const std::string_view header = std::string_view(both).substr(0, index_header_size);
    if (both.substr(index_header_size) != header || !isWholeIndex(header)) return std::nullopt;
    return SqliteLogIndex{std::string(header.substr(salts_at, 8)), indexNumber(header, frames_at)};
}

}  // namespace stategraph::checkpoint
