#pragma once
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/sqlite_saver.hpp>

// Other processes, and SQLite without a saver, for the tests of the SQLite saver.
namespace sqlite_tests {

namespace fs = std::filesystem;

/// This test program again, in another process, at one of the cases that are skipped otherwise. It is killed at the
/// end.
class Helper {
public:
    /// The case finds these in STATEGRAPH_TEST_DATABASE and STATEGRAPH_TEST_NOTES, and a number in
    /// STATEGRAPH_TEST_NUMBER.
    Helper(const char* test_case, const fs::path& database, const fs::path& notes, int number = 0) {
        ::setenv("STATEGRAPH_TEST_DATABASE", database.c_str(), 1);
        ::setenv("STATEGRAPH_TEST_NOTES", notes.c_str(), 1);
        ::setenv("STATEGRAPH_TEST_NUMBER", std::to_string(number).c_str(), 1);
        const std::string filter = std::string("--test-case=") + test_case;
        process_ = ::fork();
        if (process_ == 0) {
            ::execl("/proc/self/exe", "helper", filter.c_str(), "--no-skip", "--no-run=false",
                    static_cast<char*>(nullptr));
            ::_exit(127);
        }
        for (const char* name : {"STATEGRAPH_TEST_DATABASE", "STATEGRAPH_TEST_NOTES", "STATEGRAPH_TEST_NUMBER"})
            ::unsetenv(name);
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;
    ~Helper() { kill(); }

    void kill() {
        if (process_ <= 0) return;
        ::kill(process_, SIGKILL);
        (void)wait();
    }
    /// Its exit code.
    int wait() {
        int status = 0;
        ::waitpid(process_, &status, 0);
        process_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t process_ = -1;
};

/// What a helper's case was given; empty if it runs as any other case.
inline std::string given(const char* name) {
    const char* const text = std::getenv(name);
    return text ? text : "";
}

/// Waits until the file has so many lines.
inline void awaitLines(const fs::path& file, std::size_t wanted) {
    for (int i = 0; i < 3000; ++i) {
        std::ifstream in(file);
        std::size_t lines = 0;
        for (std::string line; std::getline(in, line);) ++lines;
        if (lines >= wanted) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw std::runtime_error("no such lines came: " + file.string());
}

/// A connection of SQLite's own to a file.
class Raw {
public:
    explicit Raw(const fs::path& path) {
        if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("cannot open " + path.string());
    }
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;
    ~Raw() { sqlite3_close(db_); }
    void run(const std::string& sql) {
        if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
            throw std::runtime_error(sql + ": " + sqlite3_errmsg(db_));
    }

private:
    sqlite3* db_ = nullptr;
};

/// What a call throws, as "SaverError: …" or "CorruptCheckpointError: …"; empty if nothing.
template <class Call>
std::string sqliteError(Call&& call) {
    try {
        call();
    } catch (const stategraph::SaverError& error) {
        return "SaverError: " + std::string(error.what());
    } catch (const stategraph::CorruptCheckpointError& error) {
        return "CorruptCheckpointError: " + std::string(error.what());
    } catch (const stategraph::InvalidArgumentError& error) {
        return "InvalidArgumentError: " + std::string(error.what());
    }
    return {};
}
inline std::string openingError(const fs::path& path, const stategraph::SqliteSaverOptions& options = {}) {
    return sqliteError([&] { const stategraph::SqliteSaver saver(path.string(), options); });
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

#define CHECK_HAS(text, part)                            \
    do {                                                 \
        const std::string sqlite_said = (text);          \
        CAPTURE(sqlite_said);                            \
        CHECK(::sqlite_tests::has(sqlite_said, (part))); \
    } while (false)

}  // namespace sqlite_tests
