#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/error.hpp>

#include "agent/middleware/aside.hpp"
#include "agent/middleware/estimate.hpp"

namespace stategraph::agent {

namespace {

using Names = std::vector<std::string>;
using Selection = std::shared_ptr<const SelectToolsOptions>;

/// Returns the offered tools that the text names, at most so many.
Names namedIn(const std::string& text, const Names& offered, std::size_t most) {
    Names named;
    const auto isPart = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
    };
    for (auto at = text.begin(); at != text.end() && named.size() < most;) {
        const auto begin = std::find_if(at, text.end(), isPart);
        at = std::find_if_not(begin, text.end(), isPart);
        std::string word(begin, at);
        const bool is_offered = std::ranges::find(offered, word) != offered.end();
        if (is_offered && std::ranges::find(named, word) == named.end()) named.push_back(std::move(word));
    }
    return named;
}

Task<model::Reply> selecting(Selection options, ModelCall& call, const NextModel& next) {
    Names selected;
    if (call.state.steps > 0 && !call.kept().isNull()) selected = call.kept().as<Names>();
    const auto& messages = call.state.messages;
    if (call.state.steps == 0 && call.tools.size() > options->most && !messages.empty()) {
        std::string list;
        for (const std::string& tool : call.tools) list += tool + "\n";
        Task<std::string> answered = detail::askAside(
            options->model,
            "Select the tools that may be needed to answer the message, at most " + std::to_string(options->most) +
                ". Answer with their names alone, one a line. There are:\n" + list,
            messages[detail::turnBegin(messages)].text(), call);
        const std::string answer = co_await std::move(answered);
        selected = namedIn(answer, call.tools, options->most);
    }
    const bool is_new = call.state.steps == 0 && (!selected.empty() || !call.kept().isNull());
    if (is_new) call.keep(Value(selected));  // also that a turn has none, where the one before it had some
    if (!selected.empty()) {
        selected.insert(selected.end(), options->always.begin(), options->always.end());
        std::erase_if(call.tools,
                      [&](const std::string& tool) { return std::ranges::find(selected, tool) == selected.end(); });
    }
    Task<model::Reply> rest = next();
    co_return co_await std::move(rest);
}

}  // namespace

Middleware selectTools(SelectToolsOptions options) {
    if (!options.model) throw InvalidArgumentError("selectTools has no model; set SelectToolsOptions::model");
    std::string name = options.name;
    const auto shared = std::make_shared<const SelectToolsOptions>(std::move(options));
    return {.name = std::move(name),
            .around_model = [shared](ModelCall& call, const NextModel& next) { return selecting(shared, call, next); }};
}

}  // namespace stategraph::agent
