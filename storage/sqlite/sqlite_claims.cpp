#include "storage/sqlite/sqlite_claims.hpp"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::checkpoint {
namespace {

using SqliteFileKey = std::pair<std::uint64_t, std::uint64_t>;

struct SqliteOpenFile {
    pid_t process = 0;
    std::size_t count = 0;
};

struct SqliteOpenFiles {
    detail::Mutex mutex;
    std::map<SqliteFileKey, SqliteOpenFile> files SG_GUARDED_BY(mutex);
};

// Never destroyed, because savers may outlive static objects.
SqliteOpenFiles& openFiles() {
    static SqliteOpenFiles* const all = new SqliteOpenFiles;
    return *all;
}

std::optional<SqliteFileKey> keyOfFile(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return std::nullopt;
    return SqliteFileKey(static_cast<std::uint64_t>(found.st_dev), static_cast<std::uint64_t>(found.st_ino));
}

}  // namespace

void SqliteFileClaim::check(const SqliteErrors& errors) {
    const auto key = keyOfFile(errors.path());
    if (!key) return;
    SqliteOpenFiles& all = openFiles();
    const detail::LockGuard lock(all.mutex);
    const auto at = all.files.find(*key);
    if (at == all.files.end() || at->second.process == ::getpid()) return;
    errors.refuseOpening("this process is a fork of process " + std::to_string(at->second.process) +
                         ", which had it open then, and its locks do not reach here; start a program (exec), or fork "
                         "before it is opened");
}

SqliteFileClaim::SqliteFileClaim(const SqliteErrors& errors) {
    const auto key = keyOfFile(errors.path());
    if (!key) errors.refuseOpening("it was deleted at this moment; open it again");
    std::tie(device_, inode_) = *key;
    SqliteOpenFiles& all = openFiles();
    const detail::LockGuard lock(all.mutex);
    SqliteOpenFile& file = all.files[*key];
    file.process = ::getpid();
    ++file.count;
}

SqliteFileClaim::~SqliteFileClaim() {
    SqliteOpenFiles& all = openFiles();
    const detail::LockGuard lock(all.mutex);
    const auto at = all.files.find({device_, inode_});
    // A claim of a parent process stays in a child.
    if (at == all.files.end() || at->second.process != ::getpid()) return;
    if (--at->second.count == 0) all.files.erase(at);
}

void SqliteFileClaim::checkPlace(const SqliteErrors& errors) const {
    const auto key = keyOfFile(errors.path());
    if (key == SqliteFileKey(device_, inode_)) return;
    errors.fail(std::string(key ? "another file has taken its place" : "the file was deleted") +
                " while it was open, so what is stored would be lost; open it again");
}

}  // namespace stategraph::checkpoint
