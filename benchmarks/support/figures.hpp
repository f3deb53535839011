#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

inline double secondsSince(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns the median of some figures, or 0 if there are none.
inline double median(std::vector<double> figures) {
    if (figures.empty()) return 0;
    const auto middle = figures.begin() + static_cast<std::ptrdiff_t>(figures.size() / 2);
    std::nth_element(figures.begin(), middle, figures.end());
    return *middle;
}

/// Returns the median gap between the moments [first, last].
inline double medianGap(const std::vector<Clock::time_point>& moments, std::size_t first, std::size_t last) {
    std::vector<double> gaps;
    for (std::size_t i = first; i < last; ++i)
        gaps.push_back(std::chrono::duration<double>(moments[i + 1] - moments[i]).count());
    return median(std::move(gaps));
}

/// Returns printable text that no compressor makes much smaller. The same seed gives the same text.
inline std::string randomText(std::size_t size, unsigned seed) {
    static constexpr char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-";
    std::mt19937 random(seed);
    std::string text(size, ' ');
    for (char& c : text) c = letters[random() % 64];
    return text;
}

}  // namespace bench
