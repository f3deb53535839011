#include "storage/sqlite/sqlite_errors.hpp"

#include <cerrno>

#include <sqlite3.h>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {
namespace {

constexpr const char* too_many_files =
    "; this process may open no more files: close some, or raise its limit (ulimit -n)";

// Called after a call that failed because a file could not be opened.
bool isOutOfFiles(sqlite3* connection) noexcept {
    const int why = connection ? sqlite3_system_errno(connection) : 0;
    return why == EMFILE || why == ENFILE;
}

const char* adviceFor(sqlite3* connection, int code) noexcept {
    if (code == SQLITE_READONLY_ROLLBACK)
        return "; a process died while it made the file: open it once without read_only, which undoes what it began";
    if (code == SQLITE_READONLY_CANTINIT || code == SQLITE_READONLY_DIRECTORY || code == SQLITE_READONLY_CANTLOCK)
        return "; SQLite needs the files FILE-wal and FILE-shm next to it, also for reading: let this process write to "
               "the folder, or copy the file to another one";
    switch (code & 0xff) {
        case SQLITE_BUSY:
            return "; another process kept writing for longer than busy_timeout: end it, or raise busy_timeout";
        case SQLITE_FULL:
            return "; make room on the disk: nothing of this was stored, and later calls work again";
        case SQLITE_IOERR:
            // After the other ones, such as that of an fsync, the log may have a whole commit that this process does
            // not count, and that the next one to open the file reads.
            if (code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ)
                return "; nothing of this was stored, and later calls work again when the disk does";
            return "; what was being written may or may not have been stored: read it again when the disk works";
        case SQLITE_TOOBIG:
            return "; a row may have 1,000,000,000 bytes";
        case SQLITE_READONLY:
            return "; change the permissions of the file and its folder, or open it read_only";
        case SQLITE_CANTOPEN:
            if (isOutOfFiles(connection)) return too_many_files;
            return "; the files FILE-wal and FILE-shm next to it must be readable, or the folder writable";
        default:
            return "";
    }
}

}  // namespace

// Returns the path for messages. A path with a NUL is refused, and the message shows all of it.
std::string SqliteErrors::shownPath() const {
    std::string shown = "'";
    for (const char c : path_) c == '\0' ? shown += "\\0" : shown += c;
    return shown += '\'';
}

void SqliteErrors::refuse(const std::string& text) const {
    if (owner_ == SqliteOwner::store) throw StoreError(text);
    throw SaverError(text);
}

void SqliteErrors::refuseOpening(sqlite3* connection, const std::string& why) const {
    refuseOpening(why +
                  (isOutOfFiles(connection) ? too_many_files : "; check the permissions of the file and its folder"));
}

void SqliteErrors::refuseOpening(const std::string& why) const {
    refuse("cannot open the database " + shownPath() + ": " + why);
}

void SqliteErrors::fail(const std::string& what) const { refuse("the database " + shownPath() + ": " + what); }

void SqliteErrors::failUnreadable(const std::string& what) const {
    const std::string text = "the database " + shownPath() + " " + what;
    if (owner_ == SqliteOwner::store) throw CorruptStoreError(text);
    throw CorruptCheckpointError(text);
}

void SqliteErrors::failCall(sqlite3* connection, int code, std::string_view work) const {
    std::string text = "could not " + std::string(work) + ": " + sqlite3_errstr(code);
    if (const char* more = connection ? sqlite3_errmsg(connection) : nullptr;
        more && std::string_view(more) != sqlite3_errstr(code))
        text += std::string(" (") + more + ")";
    if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB)
        failUnreadable("is damaged: " + text +
                       "; restore it from a copy, or save what can be read with the command "
                       "`sqlite3 FILE .recover`");
    fail(text + adviceFor(connection, code));
}

}  // namespace stategraph::checkpoint
