#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <stategraph/model/model.hpp>
#include <stategraph/store.hpp>
#include <stategraph/task.hpp>

// Models that turn texts into vectors, for the search by meaning of stores.
namespace stategraph::model {

/// The vectors of some texts.
struct Embeddings {
    /// One for each text, in the order of the texts; all of one size.
    std::vector<std::vector<float>> vectors = {};
    /// The tokens that the provider has counted, by the name of the model; empty if it counts none.
    UsageByModel usage = {};
};

/// A model that turns texts into vectors. Implementations must be safe from any thread.
class Embedder {
public:
    virtual ~Embedder() = default;
    /// Returns the vectors of the texts. The caller keeps `asking`, whose listener is not called, until the task has
    /// ended. Errors: ModelError; CancelledError if it was stopped.
    virtual Task<Embeddings> embed(std::vector<std::string> texts, const Asking& asking) const = 0;
};

/// The function with which a store embeds (IndexConfig::embed): `{.dims = 1536, .embed = model::embedWith(embedder)}`.
/// It blocks the thread that calls the store. Errors: InvalidArgumentError for null.
EmbedFunction embedWith(std::shared_ptr<const Embedder> embedder);

}  // namespace stategraph::model
