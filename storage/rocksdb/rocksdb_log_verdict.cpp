#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include <rocksdb/db.h>
#include <rocksdb/wal_filter.h>

#include "storage/rocksdb/rocksdb_event_log.hpp"
#include "storage/rocksdb/rocksdb_log_scan.hpp"

namespace stategraph::checkpoint {
namespace {

namespace fs = std::filesystem;

// Returns the first eight bytes of a batch, which are little endian.
std::uint64_t batchSequence(const rocksdb::WriteBatch& batch) {
    const std::string& bytes = batch.Data();
    std::uint64_t sequence = 0;
    for (std::size_t i = std::min<std::size_t>(8, bytes.size()); i-- > 0;)
        sequence = sequence << 8U | static_cast<unsigned char>(bytes[i]);
    return sequence;
}

/// Finds out which log files RocksDB replays; the others are left over, and damage to them does no harm. It ends the
/// replay where the log is damaged, because RocksDB continues by default after a hole of zeros.
class StopAfter final : public rocksdb::WalFilter {
public:
    explicit StopAfter(std::uint64_t last_sequence) : last_sequence_(last_sequence) {}
    const char* Name() const override { return "stategraph"; }
    WalProcessingOption LogRecordFound(unsigned long long /*log_number*/, const std::string& /*file*/,
                                       const rocksdb::WriteBatch& batch, rocksdb::WriteBatch* /*new_batch*/,
                                       bool* /*batch_changed*/) override {
        return batchSequence(batch) > last_sequence_ ? WalProcessingOption::kStopReplay
                                                     : WalProcessingOption::kContinueProcessing;
    }

private:
    std::uint64_t last_sequence_;
};

class FirstLog final : public rocksdb::WalFilter {
public:
    const char* Name() const override { return "stategraph"; }
    void ColumnFamilyLogNumberMap(const std::map<std::uint32_t, std::uint64_t>& log_numbers,
                                  const std::map<std::string, std::uint32_t>& /*names*/) override {
        for (const auto& [family, log_number] : log_numbers) least_ = std::min(least_.value_or(log_number), log_number);
    }
    WalProcessingOption LogRecordFound(unsigned long long /*log_number*/, const std::string& /*file*/,
                                       const rocksdb::WriteBatch& /*batch*/, rocksdb::WriteBatch* /*new_batch*/,
                                       bool* /*batch_changed*/) override {
        return WalProcessingOption::kStopReplay;
    }
    std::optional<std::uint64_t> least() const { return least_; }

private:
    std::optional<std::uint64_t> least_;
};

std::uint64_t findFirstLog(const std::string& folder, rocksdb::Options options) {
    FirstLog filter;
    options.wal_filter = &filter;
    options.listeners.clear();
    options.info_log = std::make_shared<EventLog>();
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder, &opened);
    const std::unique_ptr<rocksdb::DB> db(opened);
    return status.ok() ? filter.least().value_or(0) : 0;
}

std::vector<LogScan> scanAll(const std::string& folder) {
    std::vector<LogScan> scans;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const fs::path& path = entry.path();
        const std::string name = path.stem().string();
        if (path.extension() != ".log" || name.empty() || name.find_first_not_of("0123456789") != std::string::npos)
            continue;
        if (auto scan = scanLog(path.string(), std::strtoull(name.c_str(), nullptr, 10)))
            scans.push_back(std::move(*scan));
    }
    std::sort(scans.begin(), scans.end(), [](const LogScan& a, const LogScan& b) { return a.number < b.number; });
    return scans;
}

std::string describe(const LogScan& scan) {
    using Damage = LogScan::Damage;
    std::string what;
    switch (scan.damage) {
        case Damage::none:
            what = "nothing";
            break;
        case Damage::cut:
            what = "the file ends within a record";
            break;
        case Damage::zeros:
            what = "zeros where a record should begin";
            break;
        case Damage::checksum:
            what = "a record with a wrong checksum";
            break;
        case Damage::length:
            what = "a record with a wrong length";
            break;
        case Damage::order:
            what = "a record without its beginning or its end";
            break;
    }
    return "its log file " + scan.file + " has damage at byte " + std::to_string(scan.damage_at) + " of " +
           std::to_string(scan.size) + " (" + what + ")";
}

std::string rows(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " row" : " rows"); }

LogVerdict judge(const std::vector<LogScan>& scans) {
    LogVerdict verdict;
    for (std::size_t i = 0; i < scans.size(); ++i) {
        const LogScan& scan = scans[i];
        if (scan.first) verdict.last_sequence = scan.next - 1;
        if (scan.damage == LogScan::Damage::none) continue;
        const auto later = std::find_if(scans.begin() + static_cast<std::ptrdiff_t>(i) + 1, scans.end(),
                                        [](const LogScan& each) { return each.first.has_value(); });
        // The next file begins where the readable part of this one ends. So what follows the damage was dropped at an
        // earlier opening, or was never acknowledged.
        if (later != scans.end() && scan.first && *later->first == scan.next) continue;
        std::uint64_t lost_later = 0;
        for (auto each = later; each != scans.end(); ++each) lost_later += each->first ? each->next - *each->first : 0;

        const bool is_harmless =
            scan.lost_rows == 0 && !scan.is_one_byte && (lost_later == 0 || scan.damage == LogScan::Damage::cut);
        std::string text = describe(scan);
        if (is_harmless) {
            verdict.dropped = text + ", and " + std::to_string(scan.size - scan.damage_at) +
                              " bytes from there on were dropped" +
                              (lost_later > 0 ? ", with " + rows(lost_later) + " in later files" : std::string());
            return verdict;
        }
        verdict.refused = text + ": ";
        if (const std::uint64_t lost = scan.lost_rows + lost_later; lost > 0) {
            verdict.refused += rows(lost) + " that were stored after it would be lost";
        } else {
            verdict.refused += "rows of its last record, which was whole once, would be lost";
        }
        return verdict;
    }
    return verdict;
}

}  // namespace

std::unique_ptr<rocksdb::WalFilter> stopAfter(std::uint64_t last_sequence) {
    return std::make_unique<StopAfter>(last_sequence);
}

LogVerdict judgeLog(const std::string& folder, const rocksdb::Options& options) {
    const std::string log_folder = options.wal_dir.empty() ? folder : options.wal_dir;
    std::vector<LogScan> scans = scanAll(log_folder);
    const bool is_whole = std::all_of(scans.begin(), scans.end(),
                                      [](const LogScan& scan) { return scan.damage == LogScan::Damage::none; });
    if (is_whole) return {};
    const std::uint64_t first_log = findFirstLog(folder, options);
    std::erase_if(scans, [&](const LogScan& scan) { return scan.number < first_log; });
    return judge(scans);
}

}  // namespace stategraph::checkpoint
