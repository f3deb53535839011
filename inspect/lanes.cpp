#include "inspect/lanes.hpp"

#include <algorithm>

namespace stategraph::inspect {

Lanes::Drawn Lanes::next(CheckpointId id, CheckpointId parent) {
    Drawn drawn;
    auto lane = static_cast<std::size_t>(std::ranges::find(waiting_, id) - waiting_.begin());
    if (lane == waiting_.size()) waiting_.push_back(id);
    // Other lanes that wait for the checkpoint end in it too, the rightmost first.
    for (std::size_t other = waiting_.size(); other-- > lane + 1;) {
        if (waiting_[other] != id) continue;
        std::string line;
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            if (i == other) {
                line += "  ";
            } else if (i == lane) {
                line += "|";
                line += other == lane + 1 ? "/" : "-";
            } else if (i > lane && i < other) {
                line += i + 1 == other ? "+/" : "+-";
            } else {
                line += "| ";
            }
        }
        while (line.ends_with(' ')) line.pop_back();
        drawn.above.push_back(std::move(line));
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(other));
    }
    for (std::size_t i = 0; i < waiting_.size(); ++i) drawn.prefix += i == lane ? "* " : "| ";
    if (parent.empty()) {
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(lane));
    } else {
        waiting_[lane] = parent;
    }
    return drawn;
}

std::string Lanes::bars() const {
    std::string text;
    for (std::size_t i = 0; i < waiting_.size(); ++i) text += "| ";
    return text;
}

}  // namespace stategraph::inspect
