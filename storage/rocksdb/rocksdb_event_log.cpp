#include "storage/rocksdb/rocksdb_event_log.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stategraph::checkpoint {
namespace {

constexpr off_t log_bytes_max = off_t{1} << 20U;

}  // namespace

EventLog::EventLog(const std::string& folder, bool owner_only) : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {
    const std::string path = folder + "/LOG";
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && found.st_size > log_bytes_max)
        (void)std::rename(path.c_str(), (path + ".old").c_str());
    const mode_t mode = owner_only ? 0600 : 0644;
    file_ = ::open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, mode);
}

EventLog::~EventLog() {
    if (file_ >= 0) ::close(file_);
}

void EventLog::Logv(const char* format, va_list arguments) {
    if (file_ < 0) return;
    std::array<char, 1024> line{};
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::size_t size = std::strftime(line.data(), line.size(), "%Y-%m-%dT%H:%M:%SZ ", &parts);
    const int added = std::vsnprintf(line.data() + size, line.size() - size - 1, format, arguments);
    if (added > 0) size = std::min(size + static_cast<std::size_t>(added), line.size() - 2);
    line[size++] = '\n';
    if (::write(file_, line.data(), size) < 0) return;  // a lost line does not matter
}

}  // namespace stategraph::checkpoint
