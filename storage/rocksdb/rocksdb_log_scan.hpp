#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/options.h>
#include <rocksdb/wal_filter.h>

// Reads the write-ahead log of a closed database and its list of tables (MANIFEST), which has the same format, to find
// what RocksDB's recovery would drop without reporting it.
namespace stategraph::checkpoint {

/// The result of reading one file of the log. RocksDB's sequence numbers count rows: each row that is put or deleted
/// has the next number.
struct LogScan {
    enum class Damage : std::uint8_t {
        none,
        cut,       // the file ends within a record, as after a crash
        zeros,     // where a record should begin
        checksum,  // a whole record that is wrong
        length,    // a record that is longer than its place
        order,     // a record without its beginning or its end
    };

    std::uint64_t number = 0;
    std::string file;
    std::uint64_t size = 0;
    std::optional<std::uint64_t> first;  // the first row's sequence number
    std::uint64_t next = 0;              // after the last row before the damage
    Damage damage = Damage::none;
    std::uint64_t damage_at = 0;  // the position in bytes
    bool is_one_byte = false;  // whether a single altered byte explains the damage, so that the record was once whole
    bool continues = false;    // whether whole records follow the damage
    std::uint64_t lost_rows = 0;  // in whole records after the damage to which only an undamaged log leads
};

/// Returns none if only RocksDB can read the log (because it is compressed), or if it cannot be opened.
std::optional<LogScan> scanLog(const std::string& path, std::uint64_t number);
/// The same for the list of tables. `next` is the number after that of the newest row when the list was written, or 0
/// if the list does not say it in a way that is known here.
std::optional<LogScan> scanTableList(const std::string& path);

/// What opening a database will drop, or why the database must not be opened.
struct LogVerdict {
    std::string dropped;              // a sentence, or empty
    std::string refused;              // a sentence, or empty
    std::uint64_t last_sequence = 0;  // of the last row before the damage
};

/// Reads the list of tables and every log file that RocksDB would replay. RocksDB opens a database without the tables
/// that a damaged last record of the list names, and deletes them; then rows may be missing before those of the log.
/// `options` are those with which the database will be opened.
LogVerdict judgeFiles(const std::string& folder, const rocksdb::Options& options);

/// Returns a filter for Options::wal_filter that drops the rows after that number.
std::unique_ptr<rocksdb::WalFilter> stopAfter(std::uint64_t last_sequence);

/// Returns the CRC-32C of the bytes.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace stategraph::checkpoint
