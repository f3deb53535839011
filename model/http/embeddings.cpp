#include <stategraph/model/embeddings.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/error.hpp>

#include "model/http/exchange.hpp"
#include "model/http/http_client.hpp"
#include "model/http/json_access.hpp"
#include "model/http/text.hpp"

namespace stategraph::model {

namespace {

namespace json = boost::json;

/// What differs between the formats.
struct Format {
    const char* base_url;
    const char* path;
    /// Adds the members of the request that only this format has.
    void (*complete)(json::object& body);
    /// Returns the list of vectors in an answer: each is an array, or an object with one and its place.
    const char* vectors;
    /// The count of tokens.
    std::optional<std::int64_t> (*tokens)(const json::object& answer);
};

using Vectors = std::vector<std::vector<float>>;

class HttpEmbedder final : public Embedder {
public:
    HttpEmbedder(const Format& format, EmbeddingOptions options) : format_(format), options_(std::move(options)) {
        if (options_.model.empty()) throw InvalidArgumentError("EmbeddingOptions::model is empty; name the model");
        if (options_.texts_max < 1 || options_.bytes_max < 1)
            throw InvalidArgumentError("EmbeddingOptions::texts_max and bytes_max must be at least 1");
        if (options_.dimensions && *options_.dimensions < 1)
            throw InvalidArgumentError("EmbeddingOptions::dimensions must be at least 1");
        std::vector<std::pair<std::string, std::string>> headers{{"Content-Type", "application/json"}};
        if (!options_.api_key.empty()) headers.emplace_back("Authorization", "Bearer " + options_.api_key);
        client_ = http::makeClient(options_.base_url.empty() ? format.base_url : options_.base_url, format.path,
                                   options_.http, std::move(headers), options_.api_key);
    }

    Task<Embeddings> embed(std::vector<std::string> texts, const Asking& asking) const override {
        Embeddings all;
        all.vectors.reserve(texts.size());
        for (std::span<const std::string> rest(texts); !rest.empty();) {
            const std::size_t size = batchIn(rest);
            Task<std::string> asked = http::exchange(client_, bodyOf(rest.first(size)), asking);
            const std::string answer = co_await std::move(asked);
            take(answer, size, all);
            rest = rest.subspan(size);
        }
        co_return all;
    }

private:
    /// Returns how many of the texts are sent in the next request: at least one.
    std::size_t batchIn(std::span<const std::string> texts) const {
        std::size_t bytes = 0;
        std::size_t size = 0;
        for (const std::string& text : texts.first(std::min(texts.size(), options_.texts_max))) {
            if (text.empty()) throw InvalidArgumentError("a text without a character has no embedding");
            if (text.size() > options_.bytes_max) {
                throw InvalidArgumentError("a text to embed has " + std::to_string(text.size()) +
                                           " bytes; EmbeddingOptions::bytes_max is " +
                                           std::to_string(options_.bytes_max));
            }
            bytes += text.size();
            if (bytes > options_.bytes_max) break;
            ++size;
        }
        return size;
    }
    std::string bodyOf(std::span<const std::string> texts) const {
        json::object body{{"model", options_.model}, {"input", json::array(texts.begin(), texts.end())}};
        if (options_.dimensions) body["dimensions"] = *options_.dimensions;
        format_.complete(body);
        return json::serialize(body);
    }
    ModelError wrong(const std::string& says) const {
        return client_->speaker.error(says, {.status = 200, .is_retryable = false, .retry_after = {}});
    }

    void take(std::string_view answer, std::size_t size, Embeddings& all) const {
        const std::optional<json::value> parsed = http::parseJsonText(answer);
        const json::object* const object = parsed ? parsed->if_object() : nullptr;
        const json::array* const list = object != nullptr ? http::arrayOf(*object, format_.vectors) : nullptr;
        if (list == nullptr)
            throw wrong("answered with something other than vectors: " + http::quoted(answer, client_->speaker.secret));
        if (list->size() != size) {
            throw wrong("answered with " + std::to_string(list->size()) + " vectors for " + std::to_string(size) +
                        " texts");
        }
        const std::size_t before = all.vectors.size();
        all.vectors.resize(before + size);
        for (std::size_t i = 0; i < size; ++i) takeVector((*list)[i], i, std::span(all.vectors).subspan(before));
        for (const std::vector<float>& vector : all.vectors) {
            if (vector.empty() || vector.size() != all.vectors.front().size())
                throw wrong("answered with vectors of several sizes, or with none for a text");
        }
        if (const auto tokens = format_.tokens(*object)) {
            const std::string_view name = http::textOf(*object, "model");
            all.usage.add(name.empty() ? options_.model : std::string(name), {.input_tokens = *tokens});
        }
    }
    void takeVector(const json::value& each, std::size_t place, std::span<std::vector<float>> vectors) const {
        const json::array* numbers = each.if_array();
        if (const json::object* const object = each.if_object()) {
            numbers = http::arrayOf(*object, "embedding");
            place =
                static_cast<std::size_t>(http::integerOf(*object, "index").value_or(static_cast<std::int64_t>(place)));
        }
        if (numbers == nullptr || place >= vectors.size() || !vectors[place].empty())
            throw wrong("answered with a vector that is not one, or whose index is not that of a text");
        vectors[place].reserve(numbers->size());
        for (const json::value& number : *numbers) {
            const double value = number.is_number() ? number.to_number<double>() : NAN;
            if (!(std::abs(value) <= std::numeric_limits<float>::max()))
                throw wrong("answered with a vector that has something other than numbers");
            vectors[place].push_back(static_cast<float>(value));
        }
    }

    const Format& format_;
    EmbeddingOptions options_;
    std::shared_ptr<const http::HttpClient> client_;
};

constexpr Format openai_format{.base_url = "https://api.openai.com/v1",
                               .path = "/embeddings",
                               .complete = [](json::object& body) { body["encoding_format"] = "float"; },
                               .vectors = "data",
                               .tokens = [](const json::object& answer) -> std::optional<std::int64_t> {
                                   const json::object* const usage = http::objectOf(answer, "usage");
                                   return usage != nullptr ? http::integerOf(*usage, "prompt_tokens") : std::nullopt;
                               }};
constexpr Format ollama_format{
    .base_url = "http://localhost:11434",
    .path = "/api/embed",
    .complete = [](json::object& body) { body["truncate"] = false; },
    .vectors = "embeddings",
    .tokens = [](const json::object& answer) { return http::integerOf(answer, "prompt_eval_count"); }};

}  // namespace

std::shared_ptr<const Embedder> openaiEmbeddings(EmbeddingOptions options) {
    return std::make_shared<const HttpEmbedder>(openai_format, std::move(options));
}

std::shared_ptr<const Embedder> ollamaEmbeddings(EmbeddingOptions options) {
    return std::make_shared<const HttpEmbedder>(ollama_format, std::move(options));
}

}  // namespace stategraph::model
