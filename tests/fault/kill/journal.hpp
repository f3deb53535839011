#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <stategraph/runtime.hpp>

namespace fault {

/// A file of what really happened: one line for each start and end of a node, each effect, each acknowledgement. It
/// outlives the process, because every line is one write() to a file opened with O_APPEND. Safe from any thread.
///
///     start|end TASK CHECKPOINT NODE STEP ATTEMPT NAMESPACE THREAD   namespace "-": the root
///     left, with the same words: the node has thrown
///     effect|effect-done TASK KEY
///     ack input ROUND CHECKPOINT | ack answer TASK INDEX | ack run CHECKPOINT STATUS
///     process PID | puts COUNT | handed-over | done
class Journal {
public:
    /// Notes nothing; nodes then take no time.
    Journal() = default;
    /// Appends to `file`. `seed` determines how long nodes take. Throws std::system_error if the file cannot be opened.
    Journal(const std::filesystem::path& file, std::uint64_t seed);
    /// The same for a file that several processes write at a time: each line ends with this process's number.
    static Journal shared(const std::filesystem::path& file, std::uint64_t seed);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    void note(const std::string& line) const;
    void noteNode(const char* what, const stategraph::Runtime& runtime) const;
    /// Keeps the processor busy for 0 to 300 µs.
    void work();

private:
    Journal(int file, std::uint64_t seed, std::string signature);

    int file_ = -1;
    std::uint64_t seed_ = 0;
    std::string signature_;
    std::atomic<std::uint64_t> calls_ = 0;
};

/// One call of a node. It is noted when it starts, by `end` when it reaches its end, and when it is left without that.
class Visit {
public:
    Visit(Journal& journal, const stategraph::Runtime& runtime) : journal_(journal), runtime_(runtime) {
        journal_.noteNode("start", runtime_);
        journal_.work();
    }
    ~Visit() {
        if (!has_ended_) journal_.noteNode("left", runtime_);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    void end() {
        has_ended_ = true;
        journal_.noteNode("end", runtime_);
    }

private:
    bool has_ended_ = false;
    Journal& journal_;
    const stategraph::Runtime& runtime_;
};

using Words = std::vector<std::string>;
/// Returns the file's whole lines in order, each as its words, or nothing if there is no file.
std::vector<Words> readJournal(const std::filesystem::path& file);

/// Returns a well mixed number, for drawing from a seed.
constexpr std::uint64_t mixed(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
}

}  // namespace fault
