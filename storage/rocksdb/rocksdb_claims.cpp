#include "storage/rocksdb/rocksdb_claims.hpp"

#include <cerrno>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::checkpoint {
namespace {

struct Claims {
    detail::Mutex mutex;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> paths SG_GUARDED_BY(mutex);
};

// Never destroyed, because savers may outlive static objects.
Claims& claims() {
    static Claims* const all = new Claims;
    return *all;
}

#ifdef O_PATH
constexpr int watch_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
#else
constexpr int watch_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
#endif

}  // namespace

FolderClaim::FolderClaim(const std::string& folder, const DatabaseErrors& errors) {
    struct stat found {};
    if (::stat(folder.c_str(), &found) != 0) errors.refuseOpening("its folder cannot be examined");
    device_ = static_cast<std::uint64_t>(found.st_dev);
    inode_ = static_cast<std::uint64_t>(found.st_ino);
    Claims& all = claims();
    const detail::LockGuard lock(all.mutex);
    const auto [at, is_new] = all.paths.try_emplace({device_, inode_}, errors.path());
    if (is_new) return;
    const std::string as = at->second == errors.path() ? "" : " as '" + at->second + "'";
    errors.refuseOpening("this process has it open already" + as +
                         "; share that object instead of making a second one");
}

FolderClaim::~FolderClaim() {
    Claims& all = claims();
    const detail::LockGuard lock(all.mutex);
    all.paths.erase({device_, inode_});
}

FolderWatch::FolderWatch(const std::string& folder) : descriptor_(::open(folder.c_str(), watch_flags)) {}

FolderWatch::~FolderWatch() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

// The file CURRENT exists as long as the database: RocksDB only ever renames a new one over it.
bool FolderWatch::isThere() const noexcept {
    return descriptor_ < 0 || ::faccessat(descriptor_, "CURRENT", F_OK, 0) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

}  // namespace stategraph::checkpoint
