#include "src/step/start.hpp"

#include <algorithm>

namespace stategraph::engine {

std::string Start::stored(std::string_view path) const {
    if (const auto own = written.find(path); own != written.end()) return own->second;
    if (!from) return {};
    const auto row = std::ranges::find(from->tuple.writes, path, &StoredWrite::path);
    return row != from->tuple.writes.end() ? row->bytes : std::string();
}

}  // namespace stategraph::engine
