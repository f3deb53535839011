#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace failover {

/// One line of a journal: when (milliseconds since 1970), what, in which thread, and a number.
struct Line {
    std::int64_t ms = 0;
    std::string what = {};
    std::string thread = {};
    std::int64_t number = 0;
};

/// A file to which several processes append lines, and which outlives them. It stands for the world outside: the
/// effects of nodes, and the answers that a caller has seen. Safe from any thread.
class Journal {
public:
    explicit Journal(std::filesystem::path path)
        : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
        if (file_ < 0) throw std::runtime_error("cannot open " + path_.string());
    }
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;
    ~Journal() { ::close(file_); }

    void note(const std::string& what, const std::string& thread, std::int64_t number) const {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const std::string line = std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) +
                                 " " + what + " " + thread + " " + std::to_string(number) + "\n";
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
            throw std::runtime_error("cannot write " + path_.string());
    }
    const std::filesystem::path& path() const noexcept { return path_; }

    static std::vector<Line> read(const std::filesystem::path& path) {
        std::vector<Line> lines;
        std::ifstream file(path);
        for (Line line; file >> line.ms >> line.what >> line.thread >> line.number;) lines.push_back(line);
        return lines;
    }

private:
    std::filesystem::path path_;
    int file_;
};

}  // namespace failover
