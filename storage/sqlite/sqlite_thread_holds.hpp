#pragma once
#include <memory>
#include <string_view>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/saver.hpp>

#include "storage/sqlite/sqlite_errors.hpp"

namespace stategraph::checkpoint {

/// Which threads of a database are being run, and by which saver object: a lock on one byte of the file
/// DATABASE-threads for each, at the hash of the thread's name. The system gives the locks of a process back when that
/// ends, however it ends, so nothing need be renewed and no clock is asked. A stopped process (SIGSTOP) keeps its
/// threads, because it may go on in the middle of a node. The file stays empty. Safe from any thread.
class SqliteThreadHolds {
public:
    /// The errors name the database, which exists.
    explicit SqliteThreadHolds(const SqliteErrors& errors) : errors_(errors) {}

    /// As BaseCheckpointSaver::tryHold. Cost: one system call, and one to give it back.
    std::unique_ptr<ThreadHold> tryHold(std::string_view thread_id);

private:
    class File;
    class Hold;

    std::shared_ptr<File> file();

    const SqliteErrors& errors_;
    detail::Mutex mutex_;
    std::shared_ptr<File> file_ SG_GUARDED_BY(mutex_);  // opened by the first call
};

}  // namespace stategraph::checkpoint
