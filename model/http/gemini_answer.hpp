#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "model/http/answer_draft.hpp"
#include "model/http/answer_reader.hpp"
#include "model/http/gemini_parts.hpp"
#include "model/http/provider_error.hpp"

namespace stategraph::model::http {

/// Reads the pieces of an answer in Gemini's format. Unknown kinds of parts are skipped.
class GeminiAnswer final : public AnswerReader {
public:
    GeminiAnswer(Speaker speaker, Listener& listener, std::string host)
        : speaker_(std::move(speaker)), host_(std::move(host)), draft_(listener) {}

    void take(std::string_view name, std::string_view data) override;
    bool isComplete() const override { return finish_reason_.has_value(); }
    /// The format has no mark of the end: the connection, or the answer's transfer, ends.
    bool isOver() const override { return false; }
    Reply finish() override;

private:
    void takePiece(const boost::json::object& piece);
    void takeCandidate(const boost::json::object& candidate);
    void takePart(const boost::json::object& part);
    void takeCall(const boost::json::object& call, std::string_view signature);
    void takeOwn(const boost::json::object& part, std::string_view signature);
    void takeSources(const boost::json::object& candidate);
    void takeEnd(std::string_view reason, std::string_view message);
    void takeUsage(const boost::json::object& usage);

    Speaker speaker_;
    std::string host_;
    AnswerDraft draft_;
    GeminiParts parts_;
    Reply reply_;
    std::vector<ProviderPart> sources_;
    std::set<std::string> known_sources_;
    std::size_t own_calls_ = 0;
    std::string own_call_;  // the id of the last call of a tool that the provider executes
    std::optional<FinishReason> finish_reason_;
    std::optional<Usage> usage_;
};

}  // namespace stategraph::model::http
