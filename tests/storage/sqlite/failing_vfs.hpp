#pragma once
#include <csignal>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <sqlite3.h>
#include <unistd.h>

namespace sqlite_tests {

/// Makes the nth write, sync or truncation of SQLite's files fail, and optionally all later ones, or kills the process
/// there. It applies to all files that this process opens while the object exists; only one object may exist.
class FailingVfs {
public:
    FailingVfs() {
        inner() = sqlite3_vfs_find(nullptr);
        vfs_ = *inner();
        vfs_.zName = "failing";
        vfs_.szOsFile = static_cast<int>(sizeof(File)) + inner()->szOsFile;
        vfs_.xOpen = &open;
        if (sqlite3_vfs_register(&vfs_, 1) != SQLITE_OK) throw std::runtime_error("cannot register files that fail");
    }
    FailingVfs(const FailingVfs&) = delete;
    FailingVfs& operator=(const FailingVfs&) = delete;
    ~FailingVfs() {
        sqlite3_vfs_unregister(&vfs_);
        sqlite3_vfs_register(inner(), 1);
        failAt(0);
    }

    /// Sets which operation fails; 0: none.
    void failAt(int nth, int code = SQLITE_IOERR_WRITE, bool goes_on = false) {
        left() = nth;
        code_() = code;
        goesOn() = goes_on;
        failures() = 0;
    }
    /// The process is killed (SIGKILL) before the nth operation; 0: none.
    void killAt(int nth) { failAt(nth, kills); }
    /// The next sync fails.
    void failSync() {
        failAt(0);
        failsSync() = true;
    }
    /// Whether an operation has failed.
    bool hasFailed() const { return failures() > 0; }

private:
    static constexpr int kills = -1;
    struct File {
        sqlite3_file base;
        sqlite3_io_methods methods;
        sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    };
    static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->inner(); }

    static int mayFail() {
        if (left() == 0) return SQLITE_OK;
        if (left() > 1) {
            --left();
            return SQLITE_OK;
        }
        if (!goesOn()) left() = 0;
        if (code_() == kills) ::kill(::getpid(), SIGKILL);
        ++failures();
        return code_();
    }

    static int open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
        const int code = inner()->xOpen(inner(), name, real(file), flags, out);
        file->pMethods = nullptr;
        const sqlite3_io_methods* const given = real(file)->pMethods;
        if (!given) return code;
        sqlite3_io_methods& methods = reinterpret_cast<File*>(file)->methods;
        methods = *given;
        methods.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
        methods.xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
            return real(f)->pMethods->xRead(real(f), to, n, at);
        };
        methods.xWrite = [](sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
            const int failed = mayFail();
            return failed != SQLITE_OK ? failed : real(f)->pMethods->xWrite(real(f), from, n, at);
        };
        methods.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
            const int failed = mayFail();
            return failed != SQLITE_OK ? failed : real(f)->pMethods->xTruncate(real(f), size);
        };
        methods.xSync = [](sqlite3_file* f, int how) {
            if (std::exchange(failsSync(), false)) {
                ++failures();
                return SQLITE_IOERR_FSYNC;
            }
            const int failed = mayFail();
            return failed != SQLITE_OK ? failed : real(f)->pMethods->xSync(real(f), how);
        };
        methods.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
            return real(f)->pMethods->xFileSize(real(f), size);
        };
        methods.xLock = [](sqlite3_file* f, int how) { return real(f)->pMethods->xLock(real(f), how); };
        methods.xUnlock = [](sqlite3_file* f, int how) { return real(f)->pMethods->xUnlock(real(f), how); };
        methods.xCheckReservedLock = [](sqlite3_file* f, int* is) {
            return real(f)->pMethods->xCheckReservedLock(real(f), is);
        };
        methods.xFileControl = [](sqlite3_file* f, int what, void* with) {
            return real(f)->pMethods->xFileControl(real(f), what, with);
        };
        methods.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
        methods.xDeviceCharacteristics = [](sqlite3_file* f) {
            return real(f)->pMethods->xDeviceCharacteristics(real(f));
        };
        methods.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** to) {
            return real(f)->pMethods->xShmMap(real(f), page, size, extend, to);
        };
        methods.xShmLock = [](sqlite3_file* f, int at, int n, int how) {
            return real(f)->pMethods->xShmLock(real(f), at, n, how);
        };
        methods.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
        methods.xShmUnmap = [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); };
        methods.xFetch = [](sqlite3_file* f, sqlite3_int64 at, int n, void** to) {
            return real(f)->pMethods->xFetch(real(f), at, n, to);
        };
        methods.xUnfetch = [](sqlite3_file* f, sqlite3_int64 at, void* from) {
            return real(f)->pMethods->xUnfetch(real(f), at, from);
        };
        file->pMethods = &methods;
        return code;
    }

    static sqlite3_vfs*& inner() {
        static sqlite3_vfs* vfs = nullptr;
        return vfs;
    }
    static int& left() {
        static int n = 0;
        return n;
    }
    static int& code_() {
        static int code = 0;
        return code;
    }
    static bool& failsSync() {
        static bool does = false;
        return does;
    }
    static bool& goesOn() {
        static bool does = false;
        return does;
    }
    static int& failures() {
        static int n = 0;
        return n;
    }

    sqlite3_vfs vfs_{};
};

}  // namespace sqlite_tests
