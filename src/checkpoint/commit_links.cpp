#include "src/checkpoint/commit_links.hpp"

namespace stategraph::checkpoint {

bool livesForOneTask(std::string_view checkpoint_ns) noexcept {
    const std::string_view outermost = checkpoint_ns.substr(0, checkpoint_ns.find('|'));
    const std::size_t colon = outermost.find(':');
    return colon != std::string_view::npos && !outermost.substr(colon).starts_with(":=");  // otherwise a key follows
}

}  // namespace stategraph::checkpoint
