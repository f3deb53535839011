#include "src/graph/names.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace stategraph::engine {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Counts insertions, deletions, replacements and swaps of neighbours.
std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            row[j] = std::min({row[j - 1] + 1, last[j] + 1, last[j - 1] + (same ? 0 : 1)});
            const bool swapped =
                i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

}  // namespace

std::string inQuotes(std::string_view name) {
    std::string out = "'";
    out += name;
    out += '\'';
    return out;
}

std::string quotedList(std::span<const std::string_view> names) {
    std::string out;
    for (const auto name : names) out += (out.empty() ? "" : ", ") + inQuotes(name);
    return out;
}

std::optional<std::string_view> closestName(std::string_view wrong, std::span<const std::string_view> names) {
    // A third of a name may be wrong. Long texts are not typing errors and would take long to compare.
    std::size_t limit = std::max<std::size_t>(1, wrong.size() / 3);
    if (wrong.size() < 2 || wrong.size() > 200) return std::nullopt;
    std::optional<std::string_view> closest;
    for (const auto name : names) {
        const std::size_t shorter = std::min(name.size(), wrong.size());
        if (std::max(name.size(), wrong.size()) - shorter > limit) continue;
        const std::size_t distance = editDistance(wrong, name);
        if (distance > limit || (closest && distance == limit)) continue;
        closest = name;
        limit = distance;
    }
    return closest;
}

std::string adviceOn(std::string_view wrong, std::span<const std::string_view> names) {
    std::string lowered;
    for (const char c : wrong) lowered += lower(c);
    if (const auto closest = closestName(wrong, names)) return "did you mean " + inQuotes(*closest) + "?";
    if (lowered == "end") return "did you mean sg::END?";
    if (lowered == "start") return "did you mean sg::START?";
    return "add it with addNode or correct the name";
}

}  // namespace stategraph::engine
