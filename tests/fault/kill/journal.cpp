#include "tests/fault/kill/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

namespace fault {

namespace {

// A process that was killed while it wrote a line left a part of it, which does not count.
void dropTornLine(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) return;
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::size_t whole = text.rfind('\n') + 1;  // 0: there is none
    if (whole < text.size()) std::filesystem::resize_file(file, whole);
}

int openToAppend(const std::filesystem::path& file) {
    const int opened = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (opened < 0) throw std::system_error(errno, std::generic_category(), "cannot open " + file.string());
    return opened;
}

}  // namespace

Journal::Journal(int file, std::uint64_t seed, std::string signature)
    : file_(file), seed_(seed), signature_(std::move(signature)) {}

Journal::Journal(const std::filesystem::path& file, std::uint64_t seed)
    : Journal((dropTornLine(file), openToAppend(file)), seed, "") {}

Journal Journal::shared(const std::filesystem::path& file, std::uint64_t seed) {
    return {openToAppend(file), seed, " " + std::to_string(::getpid())};
}

Journal::~Journal() {
    if (file_ >= 0) ::close(file_);
}

void Journal::note(const std::string& line) const {
    if (file_ < 0) return;
    const std::string whole = line + signature_ + "\n";
    if (::write(file_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
        throw std::system_error(errno, std::generic_category(), "cannot write the journal");
    }
}

void Journal::noteNode(const char* what, const stategraph::Runtime& runtime) const {
    if (file_ < 0) return;
    const auto ns = runtime.checkpointNs();
    std::ostringstream line;
    line << what << ' ' << runtime.taskId().toString() << ' ' << runtime.checkpointId().toString() << ' '
         << runtime.node() << ' ' << runtime.step() << ' ' << runtime.attempt() << ' ' << (ns.empty() ? "-" : ns) << ' '
         << runtime.threadId();
    note(line.str());
}

void Journal::work() {
    if (file_ < 0) return;
    using Clock = std::chrono::steady_clock;
    const auto us = mixed(seed_ + calls_.fetch_add(1)) % 301;
    const auto until = Clock::now() + std::chrono::microseconds(us);
    while (Clock::now() < until) {
    }
}

std::vector<Words> readJournal(const std::filesystem::path& file) {
    std::vector<Words> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (in.eof()) break;  // without its newline: cut off
        std::istringstream words(line);
        Words& into = lines.emplace_back();
        for (std::string word; words >> word;) into.push_back(word);
    }
    return lines;
}

}  // namespace fault
