#include "src/commit/store_description.hpp"

#include <stategraph/graph_description.hpp>

#include "src/graph/core.hpp"

namespace stategraph::engine {

void storeDescription(BaseCheckpointSaver& saver, const detail::Core& core) {
    const GraphFingerprint fingerprint{core.topology().fingerprint, core.schema().fingerprint()};
    if (saver.knownGraphs().has(fingerprint)) return;
    saver.putGraph(fingerprint, Value(detail::describeGraph(core)).bytes());
    saver.knownGraphs().add(fingerprint);
}

}  // namespace stategraph::engine
