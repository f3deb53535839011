#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "tests/fault/kill/open.hpp"
#include "tests/fault/kill/process.hpp"
#include "tests/fault/kill/watch.hpp"

namespace fault {

struct Settings {
    std::string mode = "kills";
    /// The number of kills, or of hand-overs, for each durability.
    int kills = 300;
    /// How many children drive the same threads.
    int rivals = 3;
    /// The process dies at every `every`th put.
    int every = 1;
    /// How many puts later it begins with that.
    int first = 0;
    std::uint64_t seed = 0;
    std::vector<sg::Durability> durabilities = {sg::Durability::sync, sg::Durability::async, sg::Durability::exit};
    /// Where threads are stored: rocksdb, sqlite or postgres.
    std::string saver = "rocksdb";
    std::filesystem::path folder;
    std::filesystem::path child;
};

/// A process gets this much time for its end, which is far more than any process needs, also on a busy machine.
inline constexpr int patience_s = 1200;

/// The folder of one thread. `remove` removes it; if that is not reached, it is kept for finding the fault.
class Folder {
public:
    Folder(const Settings& settings, const std::string& name) : path_(settings.folder / name) {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
        if (settings.saver == "sqlite") std::ofstream(path_ / sqlite_mark) << "\n";
        static int count = 0;
        if (settings.saver == "postgres")
            std::ofstream(path_ / postgres_mark) << "kill_" << ::getpid() << "_" << ++count << "\n";
    }
    const std::filesystem::path& path() const noexcept { return path_; }
    void remove() const { removeDatabase(path_); }

private:
    std::filesystem::path path_;
};

/// Returns the child's arguments: the folder, the durability and `more`.
std::vector<std::string> childArguments(const Folder& folder, sg::Durability durability, std::uint64_t seed,
                                        const std::vector<std::string>& more);

/// A run that nothing disturbs: the others are compared with it, and it shows how long a run takes.
struct Undisturbed {
    Final final;
    std::int64_t steps = 0;
    std::chrono::duration<double> startup{};  // until the child is ready
    std::chrono::duration<double> run{};      // from there to its end
};
Undisturbed runUndisturbed(const Settings& settings, sg::Durability durability, const std::vector<std::string>& more);

/// Sleeps for a part of the time, which differs from round to round.
void sleepForPartOf(std::mt19937_64& random, std::chrono::duration<double> time);

/// Waits for the child's end, which must be exit code 0.
void expectDone(Process& process);

/// The four tests. Each prints a line a durability, and throws Failure with the thread's folder kept.
///   kills    kills the child at random times, several times a thread
///   puts     the child dies before and after each of its puts
///   sigterm  the child hands over at SIGTERM, and this process finishes the thread
///   rivals   several children drive the same threads, and are killed and frozen at random times
void testKills(const Settings& settings);
void testPuts(const Settings& settings);
void testSigterm(const Settings& settings);
void testRivals(const Settings& settings);

}  // namespace fault
