#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
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

/// What the tables of a database have, as far as its list of tables says so.
struct Tables {
    std::uint64_t first_log = 0;      // the oldest log file whose rows they may not have
    std::uint64_t last_sequence = 0;  // of the newest row when the list was written
};

std::optional<Tables> readTables(const std::string& folder, rocksdb::Options options) {
    FirstLog filter;
    options.wal_filter = &filter;
    options.listeners.clear();
    options.info_log = std::make_shared<EventLog>();
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder, &opened);
    const std::unique_ptr<rocksdb::DB> db(opened);
    if (!status.ok()) return std::nullopt;
    return Tables{filter.least().value_or(0), db->GetLatestSequenceNumber()};
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

std::string describe(const LogScan& scan, std::string_view kind) {
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
    return "its " + std::string(kind) + " " + scan.file + " has damage at byte " + std::to_string(scan.damage_at) +
           " of " + std::to_string(scan.size) + " (" + what + ")";
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
        std::string text = describe(scan, "log file");
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

std::optional<LogScan> scanList(const std::string& folder) {
    std::string name;
    if (!std::getline(std::ifstream(fs::path(folder) / "CURRENT"), name) || !name.starts_with("MANIFEST-")) return {};
    return scanTableList((fs::path(folder) / name).string());
}

/// Returns the log file before whose rows others are missing: those between `next`, the first one that is in no table,
/// and the log's first. RocksDB would replay the log nevertheless.
const LogScan* findHole(const std::vector<LogScan>& logs, std::uint64_t next) {
    for (const LogScan& log : logs) {
        if (log.first && log.next > next) return *log.first > next ? &log : nullptr;
    }
    return nullptr;
}

LogVerdict judgeList(const LogScan& list, const std::vector<LogScan>& logs, const Tables& tables) {
    LogVerdict verdict;
    verdict.last_sequence = tables.last_sequence;
    const bool is_whole = list.damage == LogScan::Damage::none;
    const std::string text = is_whole ? "its list of tables " + list.file : describe(list, "list of tables");
    if (const LogScan* log = findHole(logs, tables.last_sequence + 1)) {
        verdict.refused = text + (is_whole ? " lacks" : ": then it lacks") + " tables with the rows before those in " +
                          log->file + ", which would be lost";
    } else if (list.is_one_byte || list.continues) {
        verdict.refused = text + ": tables that it names from there on would be lost";
        verdict.last_sequence = judge(logs).last_sequence;  // the log continues where the other tables end
    } else if (!is_whole) {
        // As if the process had ended while it wrote the list. Then the rows of the new table are still in the log.
        verdict.dropped = text + ", and what it named from there on was dropped";
    }
    return verdict;
}

}  // namespace

std::unique_ptr<rocksdb::WalFilter> stopAfter(std::uint64_t last_sequence) {
    return std::make_unique<StopAfter>(last_sequence);
}

LogVerdict judgeFiles(const std::string& folder, const rocksdb::Options& options) {
    std::vector<LogScan> logs = scanAll(options.wal_dir.empty() ? folder : options.wal_dir);
    const auto list = scanList(folder);
    const bool is_list_whole =
        !list || (list->damage == LogScan::Damage::none && (list->next == 0 || findHole(logs, list->next) == nullptr));
    if (is_list_whole && std::all_of(logs.begin(), logs.end(),
                                     [](const LogScan& scan) { return scan.damage == LogScan::Damage::none; })) {
        return {};
    }
    const auto tables = readTables(folder, options);
    if (tables) std::erase_if(logs, [&](const LogScan& scan) { return scan.number < tables->first_log; });
    LogVerdict of_list = list && tables && !is_list_whole ? judgeList(*list, logs, *tables) : LogVerdict();
    if (!of_list.refused.empty()) return of_list;
    LogVerdict verdict = judge(logs);
    if (!of_list.dropped.empty())
        verdict.dropped = of_list.dropped + (verdict.dropped.empty() ? "" : "; ") + verdict.dropped;
    return verdict;
}

}  // namespace stategraph::checkpoint
