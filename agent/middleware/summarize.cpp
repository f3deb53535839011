#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/error.hpp>

#include "agent/middleware/aside.hpp"
#include "agent/middleware/estimate.hpp"

namespace stategraph::agent {

namespace {

using model::Message;

/// What is kept in the thread.
struct Summary {
    std::string text = {};
    std::string up_to = {};  // the id of the last message that it contains
    static constexpr auto fields() {
        return stategraph::fields(field("text", &Summary::text), field("up_to", &Summary::up_to));
    }
};

Message messageOf(const Summary& summary) {
    Message message = model::user("Summary of the conversation before this point:\n" + summary.text);
    message.id = "summary";
    return message;
}

/// Returns how many of the messages come before those that are sent as they are: no result is parted from its call.
std::size_t cutOf(std::span<const Message> messages, std::size_t keep) {
    std::size_t cut = messages.size() - std::min(messages.size(), keep);
    cut = std::min(cut, detail::turnBegin(messages));
    while (cut > 0 && messages[cut].role == model::Role::tool) --cut;
    return cut;
}

Task<model::Reply> summarizing(const std::shared_ptr<const SummarizeOptions>& options, ModelCall& call,
                               const NextModel& next) {
    const std::vector<Message> all = call.sent();
    Summary summary = call.kept().isNull() ? Summary() : call.kept().as<Summary>();
    const auto last = std::ranges::find(all, summary.up_to, &Message::id);
    std::span<const Message> rest(all);
    if (summary.up_to.empty() || last == all.end()) {
        summary = {};  // the conversation was edited, or branched off before it
    } else {
        rest = rest.subspan(static_cast<std::size_t>(last - all.begin()) + 1);
    }
    const std::size_t cut = cutOf(rest, options->keep_messages);
    const auto old_tokens = static_cast<std::int64_t>(summary.text.size() / 4);
    if (cut > 0 && detail::tokensIn(rest) + old_tokens > options->above_tokens) {
        std::string text = summary.text.empty() ? "" : "Summary of what came before: " + summary.text + "\n";
        text += detail::transcriptOf(rest.first(cut));
        Task<std::string> written = detail::askAside(options->model, options->instructions, std::move(text), call);
        summary.text = co_await std::move(written);
        summary.up_to = rest[cut - 1].id;
        call.keep(Value(summary));
        rest = rest.subspan(cut);
    }
    if (!summary.text.empty()) {
        std::vector<Message> sent{messageOf(summary)};
        sent.insert(sent.end(), rest.begin(), rest.end());
        call.messages = std::move(sent);
    }
    Task<model::Reply> answered = next();
    co_return co_await std::move(answered);
}

}  // namespace

Middleware summarize(SummarizeOptions options) {
    if (!options.model) throw InvalidArgumentError("summarize has no model; set SummarizeOptions::model");
    std::string name = options.name;
    const auto shared = std::make_shared<const SummarizeOptions>(std::move(options));
    return {.name = std::move(name), .around_model = [shared](ModelCall& call, const NextModel& next) {
                return summarizing(shared, call, next);
            }};
}

}  // namespace stategraph::agent
