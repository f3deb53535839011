#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <boost/json/fwd.hpp>

#include "model/http/answer_draft.hpp"
#include "model/http/answer_reader.hpp"
#include "model/http/openai_metadata.hpp"
#include "model/http/provider_error.hpp"

namespace stategraph::model::http {

/// Determines to which call of an answer the next piece belongs. A piece has an index, or continues the call before it.
/// A new id with a used index begins a new call; so does a name if the call already has a name and complete arguments.
class OpenAiCalls {
public:
    /// Takes an element of `tool_calls` in a delta. Returns the call's place in the draft.
    std::size_t take(const boost::json::object& delta, AnswerDraft& draft);

private:
    std::optional<std::size_t> find(std::optional<std::int64_t> index) const;

    // Calls are named by their places in the draft.
    std::unordered_map<std::int64_t, std::size_t> newest_;  // by index, which a server may use again
    std::optional<std::size_t> last_;                       // the one that was continued last
};

/// Reads the chunks of a streamed chat completion.
class OpenAiAnswer final : public AnswerReader {
public:
    /// `host` is the server's; it marks what is sent back only to this server.
    OpenAiAnswer(Speaker speaker, Listener& listener, std::string host = {})
        : speaker_(std::move(speaker)), host_(std::move(host)), draft_(listener) {}

    void take(std::string_view name, std::string_view data) override;
    bool isComplete() const override { return finish_reason_.has_value(); }
    bool isOver() const override { return is_over_; }
    Reply finish() override;

private:
    void takeChunk(const boost::json::object& chunk);
    void takeDelta(const boost::json::object& delta);
    void takeContent(const boost::json::object& delta);
    void takeSources(const boost::json::object& delta);
    void takeUsage(const boost::json::object& usage);

    Speaker speaker_;
    std::string host_;
    AnswerDraft draft_;
    OpenAiMetadata metadata_;
    OpenAiCalls calls_;
    Reply reply_;
    std::vector<std::string> sources_;
    std::set<std::string> known_sources_;
    std::optional<FinishReason> finish_reason_;
    std::optional<Usage> usage_;
    bool is_refused_ = false;
    bool is_thinking_ = false;  // the last content was a thought of Gemini
    bool is_over_ = false;
};

}  // namespace stategraph::model::http
