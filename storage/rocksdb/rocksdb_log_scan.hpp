#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/options.h>
#include <rocksdb/wal_filter.h>

// Reads the write-ahead log of a closed database, to find what RocksDB's recovery would drop without a word.
namespace stategraph::checkpoint {

/// One file of the log. Rows are counted by RocksDB's sequence numbers: each row that is put or deleted has the next
/// one.
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
    std::uint64_t damage_at = 0;  // byte
    bool is_one_byte = false;     // one altered byte explains the damage: it was whole once
    std::uint64_t lost_rows = 0;  // whole records after the damage that only a whole log leads to
};

/// None if the log is written in a way that only RocksDB reads (compressed), or cannot be opened.
std::optional<LogScan> scanLog(const std::string& path, std::uint64_t number);

/// What opening a database will drop, or why it must not.
struct LogVerdict {
    std::string dropped;              // a sentence, or empty
    std::string refused;              // a sentence, or empty
    std::uint64_t last_sequence = 0;  // of the last row before the damage
};

/// Reads every log file that RocksDB would replay. `options` are those that the database will be opened with.
LogVerdict judgeLog(const std::string& folder, const rocksdb::Options& options);

/// For Options::wal_filter: rows after that one are dropped.
std::unique_ptr<rocksdb::WalFilter> stopAfter(std::uint64_t last_sequence);

/// The CRC-32C of the bytes.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace stategraph::checkpoint
