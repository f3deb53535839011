#include "storage/sqlite/sqlite_thread_holds.hpp"

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace stategraph::checkpoint {

class SqliteThreadHolds::File {
public:
    explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { ::close(descriptor_); }

    // Locks or unlocks a byte, for this descriptor and not for the process, so that two savers of one process exclude
    // each other too. Returns false if it is locked elsewhere.
    bool set(short type, off_t at) const {
        struct flock lock {};
        lock.l_type = type;
        lock.l_whence = SEEK_SET;
        lock.l_start = at;
        lock.l_len = 1;
        while (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == EACCES) return false;
            throw std::system_error(errno, std::generic_category());
        }
        return true;
    }

private:
    const int descriptor_;
};

class SqliteThreadHolds::Hold final : public ThreadHold {
public:
    Hold(std::shared_ptr<File> file, off_t at) noexcept : file_(std::move(file)), at_(at) {}
    ~Hold() override {
        try {
            file_->set(F_UNLCK, at_);
        } catch (const std::system_error&) {  // it is given back when the file is closed
        }
    }

private:
    const std::shared_ptr<File> file_;
    const off_t at_;
};

std::shared_ptr<SqliteThreadHolds::File> SqliteThreadHolds::file() {
    const detail::LockGuard lock(mutex_);
    if (file_) return file_;
    std::error_code error;
    const std::filesystem::path database = std::filesystem::canonical(errors_.path(), error);
    if (error) errors_.fail("cannot be found: " + error.message());
    const std::string path = database.string() + "-threads";
    // Whoever may write to the database may lock, as with the files that SQLite makes next to it.
    struct stat found {};
    if (::stat(database.c_str(), &found) != 0)
        errors_.fail("cannot be found: " + std::generic_category().message(errno));
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, found.st_mode & 0666U);
    if (descriptor < 0)
        errors_.fail("cannot lock threads in '" + path + "': " + std::generic_category().message(errno));
    file_ = std::make_shared<File>(descriptor);
    return file_;
}

std::unique_ptr<ThreadHold> SqliteThreadHolds::tryHold(std::string_view thread_id) {
    const std::shared_ptr<File> file = this->file();
    const auto at = static_cast<off_t>(XXH3_64bits(thread_id.data(), thread_id.size()) >> 2U);
    auto hold = std::make_unique<Hold>(file, at);
    try {
        if (file->set(F_WRLCK, at)) return hold;
    } catch (const std::system_error& error) {
        errors_.fail(std::string("cannot lock threads: ") + error.what());
    }
    return nullptr;
}

}  // namespace stategraph::checkpoint
