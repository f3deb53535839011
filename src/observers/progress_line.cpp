#include "src/observers/progress_line.hpp"

#include <algorithm>
#include <cstdio>

namespace stategraph::progress {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::size_t bar_max = 40;
constexpr std::size_t bar_min = 5;

bool begins(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

std::string counted(std::size_t count, const char* one, const char* several) {
    return std::to_string(count) + ' ' + (count == 1 ? one : several);
}

// Returns the results per second, or an empty text if there is nothing to report.
std::string rateText(const Counts& counts) {
    const std::size_t made = counts.done - std::min(counts.restored, counts.done);
    if (made == 0 || counts.elapsed_ns <= 0) return {};
    const double rate = static_cast<double>(made) * 1e9 / static_cast<double>(counts.elapsed_ns);
    char text[48];
    std::snprintf(text, sizeof text, rate < 100 ? "%.1f/s" : "%.0f/s", rate);
    return text;
}

std::string leftText(const Counts& counts) {
    const std::size_t made = counts.done - std::min(counts.restored, counts.done);
    if (made == 0 || counts.elapsed_ns <= 0 || counts.done >= counts.tasks) return {};
    const double each_ns = static_cast<double>(counts.elapsed_ns) / static_cast<double>(made);
    const double left_ns = std::min(each_ns * static_cast<double>(counts.tasks - counts.done), 3.15e18);
    return durationText(static_cast<std::int64_t>(left_ns)) + " left";
}

std::string barOf(const Counts& counts, std::size_t size) {
    const std::size_t full = counts.tasks == 0 ? size : size * std::min(counts.done, counts.tasks) / counts.tasks;
    return '[' + std::string(full, '#') + std::string(size - full, '-') + ']';
}

}  // namespace

std::string durationText(std::int64_t ns) {
    const std::int64_t seconds = std::max<std::int64_t>(ns, 0) / second_ns;
    char text[48];
    if (seconds < 3600) {
        std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(seconds / 60), static_cast<int>(seconds % 60));
    } else {
        std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(seconds / 3600),
                      static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
    }
    return text;
}

std::string cleaned(std::string_view text) {
    std::string clean(text);
    for (char& byte : clean) {
        if (static_cast<unsigned char>(byte) < 0x20U || byte == 0x7F) byte = '?';
    }
    return clean;
}

std::size_t columnsOf(std::string_view text) noexcept {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string_view fitting(std::string_view text, std::size_t columns) noexcept {
    std::size_t seen = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (begins(text[i]) && seen++ == columns) return text.substr(0, i);
    }
    return text;
}

std::string superstepLine(std::string_view label, std::uint64_t superstep, const Counts& counts, std::size_t columns) {
    std::string before;
    if (!label.empty()) before += std::string(label) + ' ';
    before += "superstep " + std::to_string(superstep) + ' ';
    std::string after = ' ' + std::to_string(counts.done) + '/' + std::to_string(counts.tasks);
    const auto add = [&after](const std::string& text) {
        if (!text.empty()) after += ' ' + text;
    };
    add(rateText(counts));
    if (counts.failed > 0) add(std::to_string(counts.failed) + " failed");
    if (counts.retries > 0) add(counted(counts.retries, "retry", "retries"));
    if (counts.restored > 0) add(std::to_string(counts.restored) + " restored");
    add(leftText(counts));
    const std::size_t taken = columnsOf(before) + columnsOf(after) + 2;
    const std::size_t room = columns > taken ? std::min(columns - taken, bar_max) : 0;
    const std::string line = room < bar_min ? before + after.substr(1) : before + barOf(counts, room) + after;
    return std::string(fitting(line, columns));
}

std::string endLine(std::string_view label, std::string_view ending, int supersteps, const Counts& counts) {
    std::string line;
    if (!label.empty()) line += std::string(label) + ' ';
    line += std::string(ending) + ": " +
            counted(static_cast<std::size_t>(std::max(supersteps, 0)), "superstep", "supersteps") + ", " +
            counted(counts.done, "task", "tasks") + " in " + durationText(counts.elapsed_ns);
    const auto add = [&line](const std::string& text) {
        if (!text.empty()) line += ", " + text;
    };
    add(rateText(counts));
    if (counts.failed > 0) add(std::to_string(counts.failed) + " failed");
    if (counts.retries > 0) add(counted(counts.retries, "retry", "retries"));
    if (counts.restored > 0) add(std::to_string(counts.restored) + " restored");
    return line;
}

}  // namespace stategraph::progress
