#include "storage/rocksdb/rocksdb_claims.hpp"

#include <atomic>
#include <cerrno>
#include <map>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::checkpoint {
namespace {

struct Claim {
    std::string path;
    OwnProcess own_process;
};

struct Claims {
    detail::Mutex mutex;
    std::map<std::pair<std::uint64_t, std::uint64_t>, Claim> folders SG_GUARDED_BY(mutex);
};

std::atomic<std::uint64_t> forks = 0;  // how many forks this process descends from, since the first object was made

void noteFork() noexcept { forks.fetch_add(1, std::memory_order_relaxed); }

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

OwnProcess::OwnProcess() noexcept {
    [[maybe_unused]] static const int is_registered = ::pthread_atfork(nullptr, nullptr, &noteFork);
    forks_ = forks.load(std::memory_order_relaxed);
}

OwnProcess::operator bool() const noexcept { return forks_ == forks.load(std::memory_order_relaxed); }

FolderClaim::FolderClaim(const std::string& folder, const DatabaseErrors& errors) {
    struct stat found {};
    if (::stat(folder.c_str(), &found) != 0) errors.refuseOpening("its folder cannot be examined");
    device_ = static_cast<std::uint64_t>(found.st_dev);
    inode_ = static_cast<std::uint64_t>(found.st_ino);
    Claims& all = claims();
    const detail::LockGuard lock(all.mutex);
    const auto [at, is_new] = all.folders.try_emplace({device_, inode_}, Claim{errors.path(), own_process_});
    if (is_new) return;
    if (!at->second.own_process) {
        errors.refuseOpening(
            "a parent of this process had it open when it forked; start a program (exec), or fork before it is opened");
    }
    const std::string as = at->second.path == errors.path() ? "" : " as '" + at->second.path + "'";
    errors.refuseOpening("this process has it open already" + as +
                         "; share that object instead of making a second one");
}

FolderClaim::~FolderClaim() {
    if (!own_process_) return;  // RocksDB's own list of locked files has the folder for ever, too
    Claims& all = claims();
    const detail::LockGuard lock(all.mutex);
    all.folders.erase({device_, inode_});
}

FolderWatch::FolderWatch(const std::string& folder) : path_(folder), descriptor_(::open(folder.c_str(), watch_flags)) {
    struct stat found {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &found) != 0) return;
    device_ = static_cast<std::uint64_t>(found.st_dev);
    inode_ = static_cast<std::uint64_t>(found.st_ino);
}

FolderWatch::~FolderWatch() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

FolderWatch::Place FolderWatch::look() const noexcept {
    if (descriptor_ < 0) return Place::here;
    // The file CURRENT exists as long as the database: RocksDB only ever renames a new one over it.
    if (::faccessat(descriptor_, "CURRENT", F_OK, 0) != 0 && (errno == ENOENT || errno == ENOTDIR)) return Place::gone;
    if (inode_ == 0) return Place::here;
    struct stat found {};
    if (::stat(path_.c_str(), &found) != 0) return errno == ENOENT || errno == ENOTDIR ? Place::moved : Place::here;
    const bool is_same =
        static_cast<std::uint64_t>(found.st_dev) == device_ && static_cast<std::uint64_t>(found.st_ino) == inode_;
    return is_same ? Place::here : Place::moved;
}

}  // namespace stategraph::checkpoint
