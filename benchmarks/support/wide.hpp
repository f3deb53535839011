#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// Item with shared entries: a merge of one into another copies a pointer an entry.
using ItemOfShared = std::map<std::string, stategraph::Shared<Inner>>;

/// The state of wide_state, wide_dict and pydantic_state. `ItemType_`: Map, which is copied, or sg::Shared<Map>, which
/// is shared as in JavaScript. `Map_`: Item or ItemOfShared.
template <class ItemType_, class Map_ = Item>
struct WideOf {
    using ItemType = ItemType_;
    using Map = Map_;
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
    Map slack_participants = {};
    std::string bot_id = {};
    Map notified_assignees = {};

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
template <class Map = Item>
Map wideMessage(int outer, int inner) {
    std::vector<Scalar> list;
    for (int i = 0; i < 5; ++i) {
        std::string greeting;
        for (int j = 0; j < 10; ++j) greeting += "hi?";
        list.insert(list.end(), {greeting, true, std::int64_t{1}, std::int64_t{6327816386138}, std::monostate()});
    }
    Map item;
    for (int i = 0; i < outer; ++i) {
        Inner entry;
        for (int j = 0; j < inner; ++j) entry[digits(j)] = list;
        item[digits(i)] = std::move(entry);
    }
    return item;
}

/// `n` letters that look random: what a node writes into channels of texts.
inline std::string randomLetters(std::size_t n) {
    thread_local unsigned random = 1;
    std::string text(n, 'a');
    for (char& letter : text) {
        random = random * 1103515245U + 12345U;
        letter = static_cast<char>('a' + (random >> 16U) % 26);
    }
    return text;
}

/// A case of the three benchmarks: the loop ends when there are more than `n` messages.
struct WideShape {
    std::string_view name;
    std::size_t n;
    int outer;
    int inner;
};
inline constexpr WideShape wide_shapes[] = {{"25x300", 300, 5, 5}, {"15x600", 600, 3, 5}, {"9x1200", 1200, 3, 3}};

/// The input as it comes from outside: an object whose `messages` is a list of one message.
inline stategraph::Value wideInput(const WideShape& shape) {
    const std::map<std::string, std::vector<Item>> input{{"messages", {wideMessage(shape.outer, shape.inner)}}};
    return stategraph::Value(input);
}

template <class T>
const T& held(const T& item) {
    return item;
}
template <class T>
const T& held(const stategraph::Shared<T>& item) {
    return *item;
}

template <class Wide>
stategraph::StateGraph<Wide> wideGraph(std::size_t n) {
    namespace sg = stategraph;
    using Update = sg::Update<Wide>;
    sg::StateGraph<Wide> graph;
    graph
        .addNode("one",
                 [n](const Wide& s) -> Update {
                     return {sg::add(&Wide::trigger_events, s.messages),
                             sg::add(&Wide::primary_issue_medium, randomLetters(n))};
                 })
        .addNode("two",
                 [](const Wide& s) -> Update {
                     return {sg::add(&Wide::autoresponse, s.trigger_events.back()),
                             sg::add(&Wide::issue, s.trigger_events.back())};
                 })
        .addNode("three",
                 [](const Wide& s) -> Update {
                     return {sg::set(&Wide::relevant_rules, typename Wide::Items{*s.autoresponse})};
                 })
        .addNode("four",
                 [](const Wide& s) -> Update {
                     return {sg::add(&Wide::categorizations, s.trigger_events),
                             sg::add(&Wide::responses, s.trigger_events),
                             sg::set(&Wide::memory_docs, s.trigger_events)};
                 })
        .addNode("five",
                 [n](const Wide& s) -> Update {
                     const auto& last = s.categorizations.back();
                     return {sg::add(&Wide::user_info, last),
                             sg::add(&Wide::crm_info, last),
                             sg::add(&Wide::email_thread_id, randomLetters(n)),
                             sg::merge(&Wide::slack_participants, held(last)),
                             sg::set(&Wide::bot_id, randomLetters(n)),
                             sg::merge(&Wide::notified_assignees, held(last))};
                 })
        .addNode("six", [](const Wide& s) -> Update { return {sg::add(&Wide::messages, s.responses)}; })
        .addEdge(sg::START, "one")
        .addEdge("one", "two")
        .addEdge("two", "three")
        .addEdge("two", "four")
        .addEdge({"three", "four"}, "five")
        .addEdge("five", "six")
        .addConditionalEdges("six", [n](const Wide& s) { return s.messages.size() > n ? sg::END : "one"; });
    return graph;
}

/// Whether a run ended with what LangGraph.js ends with; peers/langgraphjs/langgraph_workloads.mjs checks the same.
template <class Wide>
bool isWideResult(const Wide& s, const WideShape& shape) {
    struct Sizes {
        std::size_t messages, events, responses;
    };
    const Sizes sizes = shape.n == 300 ? Sizes{595, 277, 406} : Sizes{1873, 872, 1278};
    const auto outer = static_cast<std::size_t>(shape.outer);
    const auto is_whole = [&](const typename Wide::Map& map) {
        if (map.size() != outer) return false;
        const Inner& entry = held(map.at(digits(0)));
        return entry.size() == static_cast<std::size_t>(shape.inner) && entry.at(digits(0)).size() == 25;
    };
    return s.messages.size() == sizes.messages && s.trigger_events.size() == sizes.events &&
           s.memory_docs.size() == sizes.events && s.categorizations.size() == sizes.responses &&
           s.responses.size() == sizes.responses && s.relevant_rules.size() == 1 && is_whole(held(s.messages.back())) &&
           s.user_info && is_whole(held(*s.user_info)) && s.crm_info && s.issue && is_whole(s.slack_participants) &&
           is_whole(s.notified_assignees) && s.primary_issue_medium.size() == shape.n &&
           s.email_thread_id->size() == shape.n && s.bot_id.size() == shape.n;
}

}  // namespace bench
