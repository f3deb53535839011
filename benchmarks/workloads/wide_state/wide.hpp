#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <stategraph/shared.hpp>
#include <stategraph/stategraph.hpp>

namespace bench {

// LangGraph's bench state of fifteen keys, typed. What its nodes hand about are the maps of the input: digits to digits
// to a list of texts, numbers, truth values and nulls.
using Scalar = std::variant<std::monostate, bool, std::int64_t, std::string>;
using Inner = std::map<std::string, std::vector<Scalar>>;
using Item = std::map<std::string, Inner>;

/// `ItemType`: Item, which is copied, or sg::Shared<Item>, which is shared as in JavaScript.
template <class ItemType>
struct WideOf {
    using Items = std::vector<ItemType>;
    using Wide = WideOf;

    Items messages = {};
    Items trigger_events = {};
    std::string primary_issue_medium = "email";
    std::optional<ItemType> autoresponse = {};
    std::optional<ItemType> issue = {};
    Items relevant_rules = {};
    Items memory_docs = {};
    Items categorizations = {};
    Items responses = {};
    std::optional<ItemType> user_info = {};
    std::optional<ItemType> crm_info = {};
    std::optional<std::string> email_thread_id = {};
    Item slack_participants = {};
    std::string bot_id = {};
    Item notified_assignees = {};

    static constexpr auto channels() {
        namespace sg = stategraph;
        constexpr auto newest = [](const auto&, const auto& written) { return written; };
        constexpr auto unless_null = [](const auto& value, const auto& written) { return written ? written : value; };
        return sg::channels(
            sg::channel("messages", &Wide::messages, sg::append),
            sg::channel("trigger_events", &Wide::trigger_events, sg::append),
            sg::channel(
                "primary_issue_medium", &Wide::primary_issue_medium,
                sg::reduce("new_or_old", [](const std::string& value,
                                            const std::string& written) { return written.empty() ? value : written; })),
            sg::channel("autoresponse", &Wide::autoresponse, sg::reduce("newest", newest)),
            sg::channel("issue", &Wide::issue, sg::reduce("unless_null", unless_null)),
            sg::channel("relevant_rules", &Wide::relevant_rules), sg::channel("memory_docs", &Wide::memory_docs),
            sg::channel("categorizations", &Wide::categorizations, sg::append),
            sg::channel("responses", &Wide::responses, sg::append),
            sg::channel("user_info", &Wide::user_info, sg::reduce("unless_null", unless_null)),
            sg::channel("crm_info", &Wide::crm_info, sg::reduce("unless_null", unless_null)),
            sg::channel("email_thread_id", &Wide::email_thread_id, sg::reduce("unless_null", unless_null)),
            sg::channel("slack_participants", &Wide::slack_participants, sg::merge),
            sg::channel("bot_id", &Wide::bot_id),
            sg::channel("notified_assignees", &Wide::notified_assignees, sg::merge));
    }
};

inline std::string digits(int n) { return std::string(10, static_cast<char>('0' + n % 10)); }

/// The input's one message: `outer` maps of `inner` lists of 25 values.
inline Item wideMessage(int outer, int inner) {
    std::vector<Scalar> list;
    for (int i = 0; i < 5; ++i) {
        std::string greeting;
        for (int j = 0; j < 10; ++j) greeting += "hi?";
        list.insert(list.end(), {greeting, true, std::int64_t{1}, std::int64_t{6327816386138}, std::monostate()});
    }
    Item item;
    for (int i = 0; i < outer; ++i) {
        for (int j = 0; j < inner; ++j) item[digits(i)][digits(j)] = list;
    }
    return item;
}

}  // namespace bench
