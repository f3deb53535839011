#include <utility>

#include <stategraph/graph_description.hpp>

#include "src/checkpoint/fold.hpp"
#include "src/reading/log_page.hpp"

namespace stategraph {

std::optional<GraphDescription> readGraph(BaseCheckpointSaver& saver, const GraphFingerprint& fingerprint) {
    const auto bytes = saver.getGraph(fingerprint);
    if (!bytes) return {};
    try {
        return Value::fromCbor(*bytes).as<GraphDescription>();
    } catch (const WrongTypeError& error) {
        throw CorruptCheckpointError("the stored description of graph " + toJson(fingerprint) +
                                     " cannot be read: " + error.message());
    }
}

std::optional<GraphDescription> readGraph(BaseCheckpointSaver& saver, const Config& config) {
    reading::requireThread(config, "readGraph");
    return reading::named(config, [&]() -> std::optional<GraphDescription> {
        const LogName log = reading::logOf(config);
        auto tuple = saver.getTuple({.log = log, .checkpoint_id = config.checkpoint_id});
        if (!tuple) return {};
        const checkpoint::Folded folded = checkpoint::fold(log, std::move(*tuple));
        return readGraph(saver, GraphFingerprint{folded.graph, folded.schema});
    });
}

}  // namespace stategraph
