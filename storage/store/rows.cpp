#include "storage/store/rows.hpp"

namespace stategraph::stores {

void OwnRows::update(std::span<const std::string>, const Edit& edit, bool lasting) {
    std::vector<Change> changes;
    {
        const auto rows = view(Reads::many);
        changes = edit(*rows);
    }
    if (!changes.empty()) write(changes, lasting);
}

}  // namespace stategraph::stores
