#include <stategraph/model/embedder.hpp>

#include <utility>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

namespace stategraph::model {

EmbedFunction embedWith(std::shared_ptr<const Embedder> embedder) {
    if (!embedder) throw InvalidArgumentError("embedWith got no embedder");
    return [embedder = std::move(embedder)](std::span<const std::string> texts) {
        const Asking asking;
        return syncWait(embedder->embed({texts.begin(), texts.end()}, asking)).vectors;
    };
}

}  // namespace stategraph::model
