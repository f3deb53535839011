#pragma once
#include <cstdarg>
#include <string>

#include <rocksdb/env.h>

namespace stategraph::checkpoint {

/// Writes RocksDB's warnings to the file LOG in the database's folder, or nowhere. It never fails. RocksDB's own log
/// asserts if the disk is full, in builds with assertions such as Debian's, and that ends the process. Thread-safe.
class EventLog final : public rocksdb::Logger {
public:
    /// Writes to no file.
    EventLog() : Logger(rocksdb::InfoLogLevel::NUM_INFO_LOG_LEVELS) {}
    /// Appends to the file. A file of more than 1 MiB is renamed to LOG.old.
    EventLog(const std::string& folder, bool owner_only);
    ~EventLog() override;
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;

    using rocksdb::Logger::Logv;
    void Logv(const char* format, va_list arguments) override;
    // RocksDB would write all options here at each opening.
    void LogHeader(const char* /*format*/, va_list /*arguments*/) override {}

private:
    int file_ = -1;
};

}  // namespace stategraph::checkpoint
