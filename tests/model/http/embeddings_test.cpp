#include <stategraph/model/embeddings.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/async.hpp>
#include <stategraph/error.hpp>

#include "tests/support/scripted_server.hpp"

// The clients of embedding endpoints, with a server in this process.
namespace {

namespace sg = stategraph;
namespace md = stategraph::model;
namespace json = boost::json;
using namespace std::chrono_literals;
using Peer = ScriptedServer::Peer;
using Vectors = std::vector<std::vector<float>>;

std::string answer(const std::string& body, int status = 200, const std::string& headers = {}) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
/// Answers each request with the next of these, the last one for ever.
ScriptedServer::Script answers(std::vector<std::string> all) {
    return [all = std::move(all)](Peer& peer) {
        for (std::size_t at = 0; !peer.request().empty(); at = std::min(at + 1, all.size() - 1)) peer.send(all[at]);
    };
}

md::EmbeddingOptions optionsFor(const ScriptedServer& server, const std::string& path = "") {
    md::EmbeddingOptions options{.base_url = server.url() + path, .api_key = "sk-secret", .model = "m"};
    options.http.connect_limit = 5min;  // a busy machine may pause any thread
    options.http.idle_limit = 5min;
    return options;
}

md::Embeddings embed(const md::Embedder& embedder, std::vector<std::string> texts) {
    const md::Asking asking;
    return sg::syncWait(embedder.embed(std::move(texts), asking));
}

std::string errorOf(const std::string& body) {
    ScriptedServer server(answers({answer(body)}));
    try {
        embed(*md::openaiEmbeddings(optionsFor(server)), {"a", "b"});
    } catch (const md::ModelError& error) {
        CHECK(!error.isRetryable());
        return error.what();
    }
    return "no error";
}

json::object bodyOf(const std::string& request) {
    return json::parse(request.substr(request.find("\r\n\r\n") + 4)).as_object();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("OpenAI's endpoint gives vectors in the order of the texts, and its count of tokens") {
    ScriptedServer server(answers({answer(
        R"({"model":"m-1","data":[{"index":1,"embedding":[0.5,-1]},{"index":0,"embedding":[1,2e-1]}],"usage":{"prompt_tokens":7}})")}));
    md::EmbeddingOptions options = optionsFor(server, "/v1");
    options.dimensions = 2;
    const md::Embeddings made = embed(*md::openaiEmbeddings(options), {"one", "two"});
    CHECK(made.vectors == Vectors{{1, 0.2F}, {0.5F, -1}});
    CHECK(made.usage.models.at("m-1").input_tokens == 7);
    const std::string request = server.requests().at(0);
    CHECK(request.starts_with("POST /v1/embeddings HTTP/1.1\r\n"));
    CHECK(has(request, "Authorization: Bearer sk-secret\r\n"));
    CHECK(json::serialize(bodyOf(request)) ==
          R"({"model":"m","input":["one","two"],"dimensions":2,"encoding_format":"float"})");
}

TEST_CASE("Ollama's endpoint gives vectors as they are, and texts are not cut") {
    ScriptedServer server(answers({answer(R"({"model":"m","embeddings":[[1,2],[3,4]],"prompt_eval_count":5})")}));
    const md::Embeddings made = embed(*md::ollamaEmbeddings(optionsFor(server)), {"one", "two"});
    CHECK(made.vectors == Vectors{{1, 2}, {3, 4}});
    CHECK(made.usage.models.at("m").input_tokens == 5);
    CHECK(server.requests().at(0).starts_with("POST /api/embed HTTP/1.1\r\n"));
    CHECK(bodyOf(server.requests().at(0)).at("truncate") == false);
}

TEST_CASE("many texts are sent in several requests, by number and by bytes") {
    const auto one = answer(R"({"embeddings":[[1]],"prompt_eval_count":1})");
    const auto two = answer(R"({"embeddings":[[1],[2]],"prompt_eval_count":2})");
    ScriptedServer server(answers({two, two, one}));
    md::EmbeddingOptions options = optionsFor(server);
    SUBCASE("by number") { options.texts_max = 2; }
    SUBCASE("by bytes") { options.bytes_max = 7; }
    const md::Embeddings made = embed(*md::ollamaEmbeddings(options), {"aaa", "bbb", "ccc", "ddd", "eee"});
    CHECK(made.vectors.size() == 5);
    CHECK(made.usage.total().input_tokens == 5);
    REQUIRE(server.requests().size() == 3);
    CHECK(json::serialize(bodyOf(server.requests()[2]).at("input")) == R"(["eee"])");
    CHECK(embed(*md::ollamaEmbeddings(options), {}).vectors.empty());
    CHECK(server.requests().size() == 3);
}

TEST_CASE("a refusal that may pass is asked again, and another says what the server said, without the key") {
    const auto busy = answer("{}", 429, "Retry-After: 0\r\n");
    ScriptedServer server(answers({busy, answer(R"({"embeddings":[[1]]})")}));
    CHECK(embed(*md::ollamaEmbeddings(optionsFor(server)), {"a"}).vectors.size() == 1);
    CHECK(server.requests().size() == 2);
    ScriptedServer refusing(answers({answer(R"({"error":{"message":"no such model for sk-secret"}})", 404)}));
    try {
        embed(*md::openaiEmbeddings(optionsFor(refusing)), {"a"});
        FAIL("no error");
    } catch (const md::ModelError& error) {
        CHECK(error.status() == 404);
        CHECK(has(error.what(), "the model at " + refusing.url() + "/embeddings answered with the status 404"));
        CHECK(has(error.what(), "no such model"));
        CHECK(!has(error.what(), "sk-secret"));
    }
}

TEST_CASE("answers that are not one vector of numbers for each text are errors") {
    CHECK(has(errorOf("hello"), "something other than vectors: hello"));
    CHECK(has(errorOf(R"({"data":[{"embedding":[1]}]})"), "1 vectors for 2 texts"));
    CHECK(has(errorOf(R"({"data":[{"embedding":[1]},{"embedding":[1,2]}]})"), "several sizes"));
    CHECK(has(errorOf(R"({"data":[{"embedding":[]},{"embedding":[]}]})"), "with none for a text"));
    CHECK(has(errorOf(R"({"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]})"), "whose index"));
    CHECK(has(errorOf(R"({"data":[{"index":-1,"embedding":[1]},{"index":1,"embedding":[2]}]})"), "whose index"));
    CHECK(has(errorOf(R"({"data":[{"embedding":["a"]},{"embedding":[2]}]})"), "other than numbers"));
    CHECK(has(errorOf(R"({"data":[{"embedding":[1e300]},{"embedding":[2]}]})"), "other than numbers"));
}

TEST_CASE("texts and options that make no sense are refused before anything is sent") {
    ScriptedServer server(answers({answer("{}")}));
    md::EmbeddingOptions options = optionsFor(server);
    options.bytes_max = 5;
    const auto embedder = md::openaiEmbeddings(options);
    CHECK_THROWS_AS(embed(*embedder, {"a", ""}), sg::InvalidArgumentError);
    CHECK_THROWS_AS(embed(*embedder, {"123456"}), sg::InvalidArgumentError);
    CHECK(server.requests().empty());
    options.model.clear();
    CHECK_THROWS_AS(md::openaiEmbeddings(options), sg::InvalidArgumentError);
    CHECK_THROWS_AS(md::embedWith(nullptr), sg::InvalidArgumentError);
}

TEST_CASE("a store embeds with an endpoint") {
    ScriptedServer server(answers({answer(R"({"embeddings":[[1,0],[0,1]]})")}));
    const sg::EmbedFunction function = md::embedWith(md::ollamaEmbeddings(optionsFor(server)));
    const std::vector<std::string> texts{"a", "b"};
    CHECK(function(texts) == Vectors{{1, 0}, {0, 1}});
}
