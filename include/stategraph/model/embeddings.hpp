#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <stategraph/model/embedder.hpp>
#include <stategraph/model/http_options.hpp>

// Clients of endpoints that turn texts into vectors.
namespace stategraph::model {

/// How an endpoint for embeddings is reached.
struct EmbeddingOptions {
    /// The address, http or https, without the path of the endpoint; empty: OpenAI's own ("https://api.openai.com/v1"),
    /// or Ollama's on this computer ("http://localhost:11434").
    std::string base_url = {};
    /// Sent as a bearer token. Empty: none is sent. It appears in no error.
    std::string api_key = {};
    /// The model's name for the server.
    std::string model = {};
    /// The size of the vectors, for models that can shorten them; none: the model's own.
    std::optional<std::int64_t> dimensions = {};
    /// The most texts of one request. More texts are sent in several requests, one after the other.
    std::size_t texts_max = 256;
    /// The most bytes of the texts of one request.
    std::size_t bytes_max = std::size_t{512} << 10U;
    /// Limits, retries and certificates of the connection, for each request.
    HttpOptions http = {};
};

/// The model behind `POST base_url/embeddings`: OpenAI, and servers with its format. Thread-safe. Errors:
/// InvalidArgumentError for options that make no sense. Of `embed` also: ModelError for an answer that has not one
/// vector of finite numbers for each text, all of one size; InvalidArgumentError for a text without a character, which
/// servers refuse, or with more than `bytes_max`.
std::shared_ptr<const Embedder> openaiEmbeddings(EmbeddingOptions options);

/// The model behind Ollama's `POST base_url/api/embed`. A text that is too long for the model is an error of the
/// server, and is not cut. Otherwise as openaiEmbeddings.
std::shared_ptr<const Embedder> ollamaEmbeddings(EmbeddingOptions options);

}  // namespace stategraph::model
