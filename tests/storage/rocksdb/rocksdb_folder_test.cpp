// A process opens a folder only once, however its path is spelt, and notices when the folder is removed.
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>
#include <stategraph/store.hpp>

#include "tests/support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
namespace sg = stategraph;

using Opened = std::shared_ptr<void>;

struct Kind {
    const char* name;
    std::function<Opened(const std::string& path)> open;
};

std::vector<Kind> kinds() {
    return {{"saver", [](const std::string& path) -> Opened { return std::make_shared<sg::RocksDBSaver>(path); }},
            {"store", [](const std::string& path) -> Opened { return std::make_shared<sg::RocksDBStore>(path); }}};
}

std::string errorOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const sg::Error& error) {
        return error.message();
    }
    return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class WorkingFolder {
public:
    explicit WorkingFolder(const fs::path& path) : before_(fs::current_path()) { fs::current_path(path); }
    ~WorkingFolder() { fs::current_path(before_); }
    WorkingFolder(const WorkingFolder&) = delete;
    WorkingFolder& operator=(const WorkingFolder&) = delete;

private:
    fs::path before_;
};

/// Whether another process could take RocksDB's lock.
bool isLocked(const fs::path& folder) {
    const std::string lock = (folder / "LOCK").string();
    const pid_t child = ::fork();
    if (child == 0) {
        // Only system calls: other threads may have held locks at the fork.
        const int file = ::open(lock.c_str(), O_RDWR);
        struct flock wanted {};
        wanted.l_type = F_WRLCK;
        ::_exit(file < 0 ? 2 : ::fcntl(file, F_SETLK, &wanted) == 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

}  // namespace

TEST_CASE("the folder of a database and all of its files are for their owner alone, unless the umask is to decide") {
    const TemporaryFolder folder;
    const mode_t before = ::umask(0);
    for (const Kind& kind : kinds()) {
        CAPTURE(kind.name);
        const fs::path mine = folder / kind.name / "deep";
        const Opened opened = kind.open(mine.string());
        CHECK(fs::status(mine.parent_path()).permissions() == fs::perms::owner_all);
        CHECK(fs::status(mine).permissions() == fs::perms::owner_all);
        for (const auto& entry : fs::directory_iterator(mine)) {
            CAPTURE(entry.path());
            CHECK(entry.status().permissions() == (fs::perms::owner_read | fs::perms::owner_write));
        }
    }
    const sg::RocksDBSaver shared((folder / "all").string(), {.owner_only = false});
    CHECK((fs::status(folder / "all").permissions() & fs::perms::others_read) != fs::perms::none);
    ::umask(before);
}

TEST_CASE("one process opens a database once, however its path is spelt, and the error says which path has it open") {
    const TemporaryFolder folder;
    const WorkingFolder working(folder.path());
    fs::create_directories(folder / "deep");
    for (const Kind& first : kinds()) {
        const std::string path = (folder / first.name).string();
        const std::string link = path + "-link";
        Opened one = first.open(path);
        fs::create_directory_symlink(path, link);
        const std::vector<std::string> spellings = {path,
                                                    path + "/",
                                                    path + "//.",
                                                    first.name,
                                                    std::string("./") + first.name,
                                                    (folder / "deep/..").string() + "/" + first.name,
                                                    link,
                                                    link + "/"};
        for (const Kind& second : kinds()) {
            for (const std::string& spelling : spellings) {
                CAPTURE(first.name);
                CAPTURE(second.name);
                CAPTURE(spelling);
                const std::string error = errorOf([&] { second.open(spelling); });
                CAPTURE(error);
                CHECK(has(error, "cannot open the database '" + spelling + "'"));
                CHECK(has(error, "this process has it open already"));
                CHECK(has(error, spelling == path ? "already;" : "already as '" + path + "';"));
            }
        }
        CHECK(isLocked(path));  // for other processes as well
        one.reset();
        one = first.open(link);
        CHECK(has(errorOf([&] { first.open(path); }), "already as '" + link + "'"));
    }
}

TEST_CASE("an opening that fails leaves the folder free for the next one") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    { const sg::RocksDBStore store(path); }
    CHECK(has(errorOf([&] { sg::RocksDBSaver saver(path); }), "something else"));
    CHECK(errorOf([&] { sg::RocksDBStore store(path); }).empty());
}

TEST_CASE("readers open a database next to its writer in the same process") {
    const TemporaryFolder folder;
    const std::string path = (folder / "db").string();
    const sg::RocksDBSaver writer(path);
    sg::RocksDBSaver reader(path + "/", {.read_only = true});
    sg::RocksDBSaver second(path, {.read_only = true});
    CHECK(reader.list({}).empty());
    CHECK(second.list({}).empty());
    CHECK(isLocked(path));
}

TEST_CASE("a relative path is the same folder after the process has changed its own") {
    const TemporaryFolder folder;
    fs::create_directories(folder / "elsewhere");
    std::unique_ptr<sg::RocksDBSaver> saver;
    {
        const WorkingFolder working(folder.path());
        saver = std::make_unique<sg::RocksDBSaver>("db");
    }
    const WorkingFolder working(folder / "elsewhere");
    saver->deleteThread("none");
    saver.reset();
    saver = std::make_unique<sg::RocksDBSaver>((folder / "db").string());
    CHECK(fs::is_empty(folder / "elsewhere"));
}

TEST_CASE("a path with a byte of value 0 is an error") {
    const TemporaryFolder folder;
    std::string path = (folder / "db").string();
    path += '\0';
    path += "x";
    for (const Kind& kind : kinds()) {
        CAPTURE(kind.name);
        CHECK(has(errorOf([&] { kind.open(path); }), "the path has a byte of value 0"));
    }
    CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a sync put into a folder that was deleted or emptied is an error") {
    for (const bool is_emptied : {false, true}) {
        CAPTURE(is_emptied);
        const TemporaryFolder folder;
        sg::RocksDBStore store((folder / "db").string(), {}, {.sync = true});
        const sg::Value value(std::map<std::string, std::string>{{"a", "b"}});
        store.put({"n"}, "before", value);
        fs::remove_all(folder / "db");
        if (is_emptied) fs::create_directory(folder / "db");
        CHECK(has(errorOf([&] { store.put({"n"}, "after", value); }), "its folder was deleted or emptied"));
        CHECK(has(errorOf([&] { store.put({"n"}, "again", value); }), "its folder was deleted or emptied"));
    }
}

TEST_CASE("a sync put into a folder that was renamed is an error, also if another database has taken its place") {
    for (const bool is_replaced : {false, true}) {
        CAPTURE(is_replaced);
        const TemporaryFolder folder;
        const sg::Value value(std::map<std::string, std::string>{{"a", "b"}});
        sg::RocksDBStore store((folder / "db").string(), {}, {.sync = true});
        store.put({"n"}, "before", value);
        fs::rename(folder / "db", folder / "old");
        if (is_replaced) {
            // A process that does not know the first object.
            sg::RocksDBStore other((folder / "other").string(), {}, {.sync = true});
            other.put({"n"}, "other", value);
        }
        if (is_replaced) fs::rename(folder / "other", folder / "db");
        CHECK(has(errorOf([&] { store.put({"n"}, "after", value); }), "its folder was renamed while it was open"));
        CHECK(has(errorOf([&] { store.put({"n"}, "again", value); }), "its folder was renamed while it was open"));
        if (is_replaced) fs::rename(folder / "db", folder / "other");
        fs::rename(folder / "old", folder / "db");
        store.put({"n"}, "back", value);
        CHECK(store.get({"n"}, "back"));
        CHECK_FALSE(store.get({"n"}, "after"));
        CHECK_FALSE(store.get({"n"}, "other"));
    }
}

TEST_CASE("a link to nothing is an error that says so") {
    const TemporaryFolder folder;
    fs::create_symlink(folder / "nowhere", folder / "link");
    for (const Kind& kind : kinds()) {
        CAPTURE(kind.name);
        CHECK(has(errorOf([&] { kind.open((folder / "link").string()); }), "it is a symbolic link to nothing"));
    }
}

TEST_CASE("puts without sync into a folder that was deleted soon are errors") {
    const TemporaryFolder folder;
    sg::RocksDBStore store((folder / "db").string());
    const sg::Value value(std::map<std::string, std::string>{{"a", "b"}});
    store.put({"n"}, "before", value);
    fs::remove_all(folder / "db");
    std::string error;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (error.empty() && std::chrono::steady_clock::now() < end) {
        error = errorOf([&] { store.put({"n"}, "after", value); });
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // sleeps: between two looks
    }
    CHECK(has(error, "its folder was deleted or emptied"));
    CHECK(has(errorOf([&] { store.put({"n"}, "again", value); }), "its folder was deleted or emptied"));
}
