#include "serve/ownership.hpp"

#include <algorithm>

namespace stategraph::serve {

void runAs(const Identity& asking, RunConfig& config) {
    config.context = config.context.with(asking);
    Metadata& metadata = config.metadata;
    std::erase_if(metadata, [](const MetadataEntry& each) { return each.key == owner_key; });
    if (!asking.name.empty()) metadata.push_back({owner_key, Value(asking.name)});
}

bool isOwn(const ThreadOwner& thread, const std::optional<Identity>& asking) {
    return thread.is_begun && asking && !asking->name.empty() && thread.name == asking->name;
}

void runOnlyOn(const ThreadOwner& found, RunConfig& config) {
    if (found.is_begun) {
        config.only_at = found.checkpoint_id;
        return;
    }
    config.only_new = true;
    if (config.on_busy == OnBusy::replace) config.on_busy = OnBusy::reject;  // nobody's run is replaced
}

}  // namespace stategraph::serve
