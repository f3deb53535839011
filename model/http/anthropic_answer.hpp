#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "model/http/answer_draft.hpp"
#include "model/http/answer_reader.hpp"
#include "model/http/provider_error.hpp"

namespace stategraph::model::http {

/// Reads the events of a streamed message. Unknown kinds of blocks and events are skipped.
class AnthropicAnswer final : public AnswerReader {
public:
    AnthropicAnswer(Speaker speaker, Listener& listener) : speaker_(std::move(speaker)), draft_(listener) {}

    void take(std::string_view name, std::string_view data) override;
    bool isComplete() const override { return finish_reason_.has_value(); }
    bool isOver() const override { return is_over_; }
    Reply finish() override;

private:
    void beginMessage(const boost::json::object& message);
    void beginBlock(const boost::json::object& event);
    void takeDelta(const boost::json::object& event);
    void endBlock(const boost::json::object& event);
    struct OwnBlock;
    void endOwnBlock(OwnBlock&& own);
    void endSources();
    void takeUsage(const boost::json::object& usage);

    Speaker speaker_;
    AnswerDraft draft_;
    Reply reply_;
    struct Call {
        std::size_t place = 0;
        std::string input;  // the input that the block had at its beginning; it counts if no delta follows
    };
    std::map<std::int64_t, Call> calls_;  // by the index of their blocks
    struct OwnBlock {                     // of a tool that the provider executes
        boost::json::object block;
        std::string input;  // in the pieces received so far
    };
    std::map<std::int64_t, OwnBlock> own_blocks_;
    std::map<std::string, std::string> own_names_;  // names of tools, by the ids of their calls
    std::vector<std::string> sources_;              // those of the current text
    std::optional<FinishReason> finish_reason_;
    std::optional<Usage> usage_;
    std::int64_t uncached_tokens_ = 0;
    bool has_begun_ = false;
    bool is_over_ = false;
};

}  // namespace stategraph::model::http
