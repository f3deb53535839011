#include "storage/sqlite/sqlite_log_scan.hpp"

#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

#include "src/value/bytes.hpp"
#include "storage/sqlite/sqlite_log_index.hpp"

// The log's form is https://www.sqlite.org/fileformat2.html, section 4:
//
//   log     := header frame…
//   header  := magic version page_size checkpoint salt salt checksum checksum        eight numbers of 4 bytes
//   frame   := page_number commit salt salt checksum checksum page                   commit: 0, or at the end of one
//
// Numbers are big endian. A checksum continues the previous one, so that a frame proves all frames before it; the words
// that it adds up are little endian or big endian, as the magic number says.
//
// Not every frame after the last whole commit is damage. A writer that died, or whose fsync failed, leaves frames that
// were never part of the log, perhaps a whole commit of them; the next writer begins at the same place, and what it
// does not reach stays in the file, with the log's salts. So a commit after a break counts as lost only if it is
// certain that it was stored: the index of the log lists it, or a later commit continues its checksum. A writer
// continues a commit only once the index lists it, and the index never goes back within one log.
namespace stategraph::checkpoint {
namespace {

constexpr std::size_t header_size = 32;
constexpr std::size_t frame_header_size = 24;

struct SqliteChecksum {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    bool operator==(const SqliteChecksum&) const = default;
};

struct SqliteLogScan {
    std::string header;
    std::uint64_t size = 0;
    std::uint64_t end = 0;   // of the last whole commit
    bool has_tail = false;   // whether there are frames of this log after the last whole commit
    std::uint64_t lost = 0;  // commits that were stored and are not read because of the damage, as far as is certain
    bool operator==(const SqliteLogScan&) const = default;
};

std::uint32_t number32(std::string_view bytes, std::size_t at) {
    return static_cast<std::uint32_t>(detail::loadBigEndian(bytes.substr(at, 4)));
}

SqliteChecksum storedAt(std::string_view bytes, std::size_t at) {
    return {number32(bytes, at), number32(bytes, at + 4)};
}

SqliteChecksum add(SqliteChecksum sum, std::string_view bytes, bool is_big_endian) {
    const bool is_native = is_big_endian == (std::endian::native == std::endian::big);
    const auto word = [&](std::size_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        if (!is_native) value = value >> 24U | (value >> 8U & 0xff00U) | (value << 8U & 0xff0000U) | value << 24U;
        return value;
    };
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
        sum.a += word(at) + sum.b;
        sum.b += word(at + 4) + sum.a;
    }
    return sum;
}

bool isPageSize(std::uint32_t size) { return size >= 512 && size <= 65536 && (size & (size - 1)) == 0; }

// The index must have been read before, so that it lists nothing that is written while the log is read.
std::optional<SqliteLogScan> scanSqliteLog(const std::string& path, const std::optional<SqliteLogIndex>& index) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    SqliteLogScan scan;
    scan.header.resize(header_size);
    file.read(scan.header.data(), static_cast<std::streamsize>(header_size));
    scan.size = static_cast<std::uint64_t>(file.gcount());
    if (scan.size < header_size) {
        scan.header.resize(scan.size);
        scan.has_tail = scan.size > 0;
        return scan;
    }
    const bool is_big_endian = (number32(scan.header, 0) & 1U) != 0;
    const std::uint32_t page = number32(scan.header, 8);
    SqliteChecksum sum = add({}, std::string_view(scan.header).substr(0, 24), is_big_endian);
    const bool is_header_whole =
        (number32(scan.header, 0) & ~1U) == 0x377f0682U && isPageSize(page) && sum == storedAt(scan.header, 24);
    const std::string salts = scan.header.substr(16, 8);
    const std::uint64_t listed = index && index->salts == salts ? index->frames : 0;
    std::string frame(frame_header_size + (isPageSize(page) ? page : 4096), '\0');

    bool is_chain = is_header_whole;
    if (is_chain) scan.end = header_size;
    std::uint64_t at = header_size;
    // Of the frame before.
    SqliteChecksum before;
    std::string salts_before;
    bool was_commit = false;
    bool was_lost = false;
    for (std::uint64_t number = 1;; at += frame.size(), ++number) {
        file.read(frame.data(), static_cast<std::streamsize>(frame.size()));
        const auto got = static_cast<std::uint64_t>(file.gcount());
        scan.size += got;
        if (got < frame.size()) {
            scan.has_tail = scan.has_tail || (got > 0 && is_chain);
            break;
        }
        const std::string_view bytes(frame);
        const bool is_of_this = bytes.substr(8, 8) == salts;
        const bool is_commit = number32(bytes, 4) != 0;
        const SqliteChecksum stored = storedAt(bytes, 16);
        const auto sumAfter = [&](SqliteChecksum from) {
            return add(add(from, bytes.substr(0, 8), is_big_endian), bytes.substr(frame_header_size), is_big_endian);
        };
        if (is_chain) {
            sum = sumAfter(sum);
            is_chain = is_of_this && sum == stored;
            if (is_chain && is_commit) scan.end = at + frame.size();
            if (is_chain) scan.has_tail = !is_commit;
            if (!is_chain) scan.has_tail = scan.has_tail || is_of_this;
        } else if (is_header_whole) {
            // If only the checksum of the first frame after the break is damaged, the next one continues what it was.
            const bool continues = is_of_this && (sumAfter(before) == stored || sumAfter(sum) == stored);
            if (continues && was_commit && !was_lost) ++scan.lost;
            was_lost = is_of_this && is_commit && number <= listed;
            if (was_lost) ++scan.lost;
            scan.has_tail = scan.has_tail || is_of_this;
            sum = stored;
        } else {
            const bool is_ours = bytes.substr(8, 8) == salts_before && sumAfter(before) == stored;
            if (is_ours && is_commit) ++scan.lost;
            scan.has_tail = scan.has_tail || is_ours;
        }
        was_commit = is_commit;
        before = stored;
        salts_before = bytes.substr(8, 8);
    }
    return scan;
}

std::string tailOf(const SqliteLogScan& scan) {
    return std::to_string(scan.size - scan.end) + " bytes at byte " + std::to_string(scan.end);
}

}  // namespace

SqliteLogVerdict judgeSqliteLog(const std::string& path) {
    const auto isSuspect = [](const std::optional<SqliteLogScan>& scan) {
        return scan && (scan->lost > 0 || scan->has_tail);
    };
    std::optional<SqliteLogScan> scan = scanSqliteLog(path, std::nullopt);
    // A live writer changes the log while it is read, so the log is judged only if it does not change meanwhile. A log
    // that never stops changing has a writer, which checked it when it opened it.
    for (int look = 0; isSuspect(scan); ++look) {
        if (look == 10) return {};
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::optional<SqliteLogScan> again = scanSqliteLog(path, readSqliteLogIndex(path));
        if (again == scan) break;
        scan = std::move(again);
    }
    if (!isSuspect(scan)) return {};
    const std::string file = path.substr(path.rfind('/') + 1);
    if (scan->lost > 0)
        return {{},
                "its write-ahead log " + file + " has damage after byte " + std::to_string(scan->end) + " of " +
                    std::to_string(scan->size) + ": at least " + std::to_string(scan->lost) +
                    (scan->lost == 1 ? " commit that was" : " commits that were") + " stored would be lost"};
    return {"its write-ahead log " + file + " has " + tailOf(*scan) + " that are not a whole commit; they were dropped",
            {}};
}

}  // namespace stategraph::checkpoint
