#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "model/http/answer_draft.hpp"
#include "model/http/answer_reader.hpp"
#include "model/http/provider_error.hpp"
#include "model/http/responses_items.hpp"

namespace stategraph::model::http {

/// Reads the events of a streamed answer of the Responses API. Unknown events are skipped, and unknown items are kept
/// for the next request.
class ResponsesAnswer final : public AnswerReader {
public:
    ResponsesAnswer(Speaker speaker, Listener& listener, ItemOrigin origin)
        : speaker_(std::move(speaker)), origin_(std::move(origin)), draft_(listener) {}

    void take(std::string_view name, std::string_view data) override;
    bool isComplete() const override { return finish_reason_.has_value(); }
    bool isOver() const override { return finish_reason_.has_value(); }
    Reply finish() override;

private:
    struct Item {
        std::size_t text_size = 0;        // of what has been received of the item
        std::size_t thought_size = 0;     // likewise
        std::optional<std::size_t> call;  // its place in the draft
        bool is_done = false;
    };

    void takeEvent(std::string_view type, const boost::json::object& event);
    void takeDelta(std::string_view type, const boost::json::object& event);
    void takeEnd(std::string_view status, const boost::json::object& response);
    Item& begin(std::int64_t index, const boost::json::object& item);
    void end(std::int64_t index, const boost::json::object& item);
    void endMessage(Item& state, const boost::json::object& item);
    void addText(Item& state, std::string_view piece);
    void addThought(Item& state, std::string_view piece);
    void addOwnCall(const boost::json::object& item);
    void takeUsage(const boost::json::object& usage);

    Speaker speaker_;
    ItemOrigin origin_;
    AnswerDraft draft_;
    Reply reply_;
    std::map<std::int64_t, Item> open_;  // by output_index
    ResponsesItems items_;
    std::optional<FinishReason> finish_reason_;
    std::optional<Usage> usage_;
    bool is_refused_ = false;
};

}  // namespace stategraph::model::http
