#include "inspect/shards.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>

#include <stategraph/sharded_saver.hpp>

namespace stategraph::inspect {
namespace {

std::size_t slotOf(std::string_view text, const std::string& whole) {
    std::size_t slot = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
    if (error == std::errc() && end == text.data() + text.size() && slot < shard_slots) return slot;
    throw UsageError{"slots are written as 0-99,512, with numbers from 0 to " + std::to_string(shard_slots - 1) +
                     ", and not as '" + whole + "'"};
}

}  // namespace

std::vector<std::size_t> slotsOf(const std::string& text) {
    std::vector<std::size_t> slots;
    std::set<std::size_t> known;
    std::string_view rest = text;
    for (bool has_more = true; has_more;) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        has_more = comma != std::string_view::npos;
        if (has_more) rest.remove_prefix(comma + 1);
        const std::size_t hyphen = part.find('-');
        const std::size_t first = slotOf(part.substr(0, hyphen), text);
        const std::size_t last = hyphen == std::string_view::npos ? first : slotOf(part.substr(hyphen + 1), text);
        if (last < first) (void)slotOf("", text);
        for (std::size_t slot = first; slot <= last; ++slot) {
            if (known.insert(slot).second) slots.push_back(slot);
        }
    }
    return slots;
}

std::string rangesOf(const std::vector<std::size_t>& slots) {
    std::string text;
    for (std::size_t i = 0; i < slots.size();) {
        std::size_t last = i;
        while (last + 1 < slots.size() && slots[last + 1] == slots[last] + 1) ++last;
        text += (text.empty() ? "" : ", ") + std::to_string(slots[i]);
        if (last > i) text += "-" + std::to_string(slots[last]);
        i = last + 1;
    }
    return text;
}

#if STATEGRAPH_HAS_POSTGRES_SHARDS
std::vector<PostgresCluster> readClusters(const std::string& file) {
    std::ifstream in(file);
    if (!in) throw UsageError{"the file of clusters '" + file + "' cannot be read"};
    std::vector<PostgresCluster> clusters;
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        std::istringstream words(line);
        std::string name;
        std::string address;
        std::string more;
        words >> name >> address >> more;
        if (name.empty() || name.starts_with('#')) continue;
        if (!more.empty() || (!address.starts_with("postgresql://") && !address.starts_with("postgres://")))
            throw UsageError{"line " + std::to_string(number) + " of '" + file +
                             "' is no cluster; write NAME postgresql://USER@HOST/DATABASE, with #SCHEMA after it for a "
                             "schema other than 'stategraph'"};
        PostgresCluster& cluster = clusters.emplace_back();
        const std::size_t mark = address.rfind('#');
        cluster.name = name;
        cluster.conninfo = address.substr(0, mark);
        if (mark != std::string::npos) cluster.options.schema = address.substr(mark + 1);
        cluster.options.connections_max = 2;
    }
    if (clusters.empty()) throw UsageError{"the file of clusters '" + file + "' names none"};
    return clusters;
}
#endif

}  // namespace stategraph::inspect
