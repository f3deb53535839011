#include "storage/saver/owner_files.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stategraph/detail/mutex.hpp>

namespace stategraph::checkpoint {

std::error_code makeOwnerFolders(const std::filesystem::path& folder) {
    std::filesystem::path made;
    for (const std::filesystem::path& part : folder) {
        made /= part;
        if (made.empty() || ::mkdir(made.c_str(), 0700) == 0) continue;
        const int error = errno;
        std::error_code ignored;
        if (!std::filesystem::is_directory(made, ignored)) return {error, std::generic_category()};
    }
    return {};
}

void makeOwnerFile(const std::string& path) {
    // Closing a descriptor drops all locks of the process on its file, such as SQLite's, so no other thread may open
    // the new file before its descriptor is closed.
    static detail::Mutex mutex;
    const detail::LockGuard lock(mutex);
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0) ::close(file);
}

}  // namespace stategraph::checkpoint
