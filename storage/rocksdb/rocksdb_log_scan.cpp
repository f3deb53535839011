#include "storage/rocksdb/rocksdb_log_scan.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include "storage/rocksdb/rocksdb_bytes.hpp"

// A log file consists of blocks of 32 KiB. A record has a checksum (4 bytes, of all that follows), a length (2), a type
// (1), in recycled files the number of the log (4), and the bytes. It never crosses the end of a block. A batch of rows
// is one record, or consists of a first record, middle ones and a last. It begins with its first row's sequence number
// (8) and the number of rows (4). All numbers are little endian.
//
// The list of tables consists of the same records, whose batches are changes of the list: tags, each with its value, as
// varints. The number of the newest row (tag 4) comes before the tables.
namespace stategraph::checkpoint {
namespace {

constexpr std::size_t block_size = 32768;
constexpr std::size_t header_size = 7;
constexpr std::size_t recycled_header_size = 11;
constexpr std::size_t batch_header_size = 12;
constexpr std::size_t edit_head_size = 128;

enum Type : std::uint8_t {
    zero = 0,
    full = 1,
    first = 2,
    middle = 3,
    last = 4,
    recycled = 5,
    recycled_last = 8,
    compressed = 9
};

std::uint64_t number(std::string_view bytes, std::size_t at, std::size_t size) {
    return fixedNumber(bytes.substr(at, size));
}

// ------------------------------------------------------------------------------------------------------------ CRC-32C
using Table = std::array<std::uint32_t, 256>;

constexpr std::array<Table, 8> makeTables() {
    std::array<Table, 8> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
        tables[0][byte] = crc;
    }
    for (std::size_t n = 1; n < tables.size(); ++n) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[n - 1][byte];
            tables[n][byte] = before >> 8U ^ tables[0][before & 0xFFU];
        }
    }
    return tables;
}
constexpr std::array<Table, 8> tables = makeTables();

// Returns the index of each entry of the table by the entry's highest byte, which differs in all of them.
constexpr std::array<std::uint8_t, 256> makeReverse() {
    std::array<std::uint8_t, 256> reverse{};
    for (std::size_t byte = 0; byte < 256; ++byte) reverse[tables[0][byte] >> 24U] = static_cast<std::uint8_t>(byte);
    return reverse;
}
constexpr std::array<std::uint8_t, 256> reverse = makeReverse();

// Returns the form in which a checksum is stored.
std::uint32_t masked(std::uint32_t crc) { return (crc >> 15U | crc << 17U) + 0xA282EAD8U; }
std::uint32_t unmasked(std::uint32_t stored) {
    const std::uint32_t rotated = stored - 0xA282EAD8U;
    return rotated >> 17U | rotated << 15U;
}

/// Returns whether altering one of the `size` bytes changes their checksum by `difference`. The checksum is linear, so
/// the difference is followed backwards.
bool isOneByteOff(std::uint32_t difference, std::size_t size) {
    for (; size > 0; --size) {
        const std::uint8_t index = reverse[difference >> 24U];
        if (tables[0][index] == difference) return true;
        difference = (difference ^ tables[0][index]) << 8U | index;
    }
    return false;
}

struct Header {
    std::uint32_t stored = 0;
    std::size_t length = 0;
    std::uint8_t type = 0;
    std::size_t size = header_size;
};

Header headerAt(std::string_view rest) {
    Header header{static_cast<std::uint32_t>(number(rest, 0, 4)), static_cast<std::size_t>(number(rest, 4, 2)),
                  static_cast<std::uint8_t>(rest[6]), header_size};
    if (header.type >= recycled && header.type <= recycled_last) header.size = recycled_header_size;
    return header;
}

bool isWhole(std::string_view rest, const Header& header, std::size_t length) {
    if (header.size + length > rest.size()) return false;
    return crc32c(rest.substr(6, header.size - 6 + length)) == unmasked(header.stored);
}

/// Returns whether a record is whole except for its type.
bool isOtherType(std::string_view rest, const Header& header) {
    std::string bytes(rest.substr(0, std::min(rest.size(), recycled_header_size + header.length)));
    for (std::uint8_t type = full; type <= recycled_last; ++type) {
        bytes[6] = static_cast<char>(type);
        if (isWhole(bytes, headerAt(bytes), header.length)) return true;
    }
    return false;
}

/// Returns whether a single altered byte explains why no whole record begins at `rest`, the rest of a block.
bool isOneByte(std::string_view rest) {
    const Header header = headerAt(rest);
    if (isOtherType(rest, header)) return true;
    if (header.size + header.length <= rest.size()) {
        const std::size_t size = header.size - 6 + header.length;
        const std::uint32_t actual = crc32c(rest.substr(6, size));
        if (isOneByteOff(actual ^ unmasked(header.stored), size)) return true;
        const std::uint32_t bits = masked(actual) ^ header.stored;
        for (std::uint32_t byte = 0xFFU; byte != 0; byte <<= 8U) {
            if ((bits & ~byte) == 0) return true;
        }
    }
    for (std::size_t value = 0; value < 256; ++value) {
        if (isWhole(rest, header, (header.length & 0xFF00U) | value)) return true;
        if (isWhole(rest, header, (header.length & 0x00FFU) | value << 8U)) return true;
    }
    return false;
}

// -------------------------------------------------------------------------------------------- a change of the list
/// Returns the number of the newest row that a change of the list of tables names, if it does.
std::optional<std::uint64_t> newestRow(std::string_view edit) {
    enum Tag : std::uint64_t { comparator = 1, log = 2, next_file = 3, newest = 4, log_before = 9 };
    while (const auto tag = takeVarint(edit)) {
        const auto value = takeVarint(edit);
        if (!value) return std::nullopt;
        if (*tag == newest) return value;
        if (*tag == comparator) {
            edit.remove_prefix(std::min<std::size_t>(edit.size(), *value));
        } else if (*tag != log && *tag != next_file && *tag != log_before) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

// ------------------------------------------------------------------------------------------------------------ one file
class Scanner {
public:
    Scanner(LogScan& scan, bool is_list) : scan_(scan), is_list_(is_list) {}

    bool isUnknown() const { return is_unknown_; }

    /// Returns whether more blocks are of interest.
    bool read(std::string_view block) {
        const bool is_end = block.size() < block_size;
        std::size_t at = 0;
        while (!is_over_ && block.size() - at >= header_size) {
            offset_ = block_at_ + at;
            at +=
                scan_.damage == LogScan::Damage::none ? readRecord(block.substr(at), is_end) : search(block.substr(at));
        }
        if (is_end && at < block.size() && !is_over_) setDamage(LogScan::Damage::cut, block_at_ + at);
        block_at_ += block.size();
        return !is_over_;
    }
    void finish() {
        if (is_in_batch_) setDamage(LogScan::Damage::cut, batch_at_);
    }

private:
    // Returns how many bytes to continue, or 0 if there is damage.
    std::size_t readRecord(std::string_view rest, bool is_end) {
        const Header header = headerAt(rest);
        if (header.type == zero && header.length == 0) return setDamage(LogScan::Damage::zeros, offset_);
        if (header.size + header.length > rest.size()) {
            scan_.is_one_byte = isOneByte(rest);
            return setDamage(is_end ? LogScan::Damage::cut : LogScan::Damage::length, offset_);
        }
        if (header.size == recycled_header_size && number(rest, 7, 4) != (scan_.number & 0xFFFFFFFFU)) {
            if (isWhole(rest, header, header.length) || !isOtherType(rest, header)) {
                is_over_ = true;  // the rest is what the recycled file held before
                return 0;
            }
        }
        if (!isWhole(rest, header, header.length)) {
            scan_.is_one_byte = isOneByte(rest);
            return setDamage(LogScan::Damage::checksum, offset_);
        }
        if (header.type >= compressed) {
            is_over_ = is_unknown_ = true;
            return 0;
        }
        return accept(kindOf(header), rest.substr(header.size, header.length)) ? header.size + header.length : 0;
    }

    static std::uint8_t kindOf(const Header& header) {
        return header.size == recycled_header_size ? static_cast<std::uint8_t>(header.type - recycled + full)
                                                   : header.type;
    }

    bool accept(std::uint8_t kind, std::string_view bytes) {
        const bool begins = kind == full || kind == first;
        if (begins == is_in_batch_) {
            setDamage(LogScan::Damage::order, begins ? batch_at_ : offset_);
            is_in_batch_ = false;
            return false;
        }
        if (begins) {
            batch_at_ = offset_;
            head_.clear();
        }
        is_in_batch_ = kind == first || kind == middle;
        head_.append(bytes.substr(0, (is_list_ ? edit_head_size : batch_header_size) - head_.size()));
        if (!is_in_batch_) acceptHead();
        return true;
    }

    void acceptHead() {
        if (is_list_) {
            if (const auto row = newestRow(head_)) scan_.next = std::max(scan_.next, *row + 1);
        } else if (head_.size() == batch_header_size) {
            const std::uint64_t sequence = number(head_, 0, 8);
            if (!scan_.first) scan_.first = sequence;
            scan_.next = sequence + number(head_, 8, 4);
        }
    }

    // Looks for whole records after the damage, at any byte. RocksDB drops the rest of a damaged block, and everything
    // after it.
    std::size_t search(std::string_view rest) {
        const Header header = headerAt(rest);
        const bool is_type = header.type >= full && header.type <= recycled_last;
        if (!is_type || header.length == 0 || !isWhole(rest, header, header.length)) return 1;
        scan_.continues = true;
        const std::uint8_t kind = kindOf(header);
        if ((kind == full || kind == first) && header.length >= batch_header_size) {
            // A write that failed and was tried again has the next number. After a lost write, numbers are greater.
            const std::uint64_t sequence = number(rest, header.size, 8);
            if (sequence > scan_.next || !scan_.first)
                scan_.lost_rows += std::max<std::uint64_t>(1, number(rest, header.size + 8, 4));
        }
        return header.size + header.length;
    }

    std::size_t setDamage(LogScan::Damage damage, std::uint64_t at) {
        if (scan_.damage == LogScan::Damage::none) {
            scan_.damage = damage;
            scan_.damage_at = at;
        }
        return 0;
    }

    LogScan& scan_;
    bool is_list_;
    std::uint64_t block_at_ = 0;
    std::uint64_t offset_ = 0;    // of the record
    std::uint64_t batch_at_ = 0;  // of the batch's first record
    std::string head_;            // the batch's first bytes
    bool is_in_batch_ = false;
    bool is_over_ = false;
    bool is_unknown_ = false;
};

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFFU;
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
        const std::uint32_t low = crc ^ static_cast<std::uint32_t>(number(bytes, at, 4));
        const auto high = static_cast<std::uint32_t>(number(bytes, at + 4, 4));
        crc = tables[7][low & 0xFFU] ^ tables[6][low >> 8U & 0xFFU] ^ tables[5][low >> 16U & 0xFFU] ^
              tables[4][low >> 24U] ^ tables[3][high & 0xFFU] ^ tables[2][high >> 8U & 0xFFU] ^
              tables[1][high >> 16U & 0xFFU] ^ tables[0][high >> 24U];
    }
    for (; at < bytes.size(); ++at) crc = crc >> 8U ^ tables[0][(crc ^ static_cast<unsigned char>(bytes[at])) & 0xFFU];
    return ~crc;
}

namespace {

std::optional<LogScan> scanFile(const std::string& path, std::uint64_t log_number, bool is_list) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    LogScan scan;
    scan.number = log_number;
    scan.file = path.substr(path.rfind('/') + 1);
    Scanner scanner(scan, is_list);
    std::string block(block_size, '\0');
    for (bool is_more = true; is_more;) {
        file.read(block.data(), static_cast<std::streamsize>(block_size));
        const auto size = static_cast<std::size_t>(file.gcount());
        scan.size += size;
        is_more = size > 0 && scanner.read(std::string_view(block).substr(0, size)) && size == block_size;
    }
    if (scanner.isUnknown()) return std::nullopt;
    scanner.finish();
    return scan;
}

}  // namespace

std::optional<LogScan> scanLog(const std::string& path, std::uint64_t log_number) {
    return scanFile(path, log_number, false);
}

std::optional<LogScan> scanTableList(const std::string& path) { return scanFile(path, 0, true); }

}  // namespace stategraph::checkpoint
