#include "langgraph/message_channels.hpp"

#include <algorithm>

#include <stategraph/detail/json_reading.hpp>

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

bool holdsMessages(const DescribedChannel& channel) { return channel.reducer == "messages"; }

const json::object* memberOf(const json::object* object, std::string_view name) noexcept {
    const json::value* const found = object != nullptr ? object->if_contains(name) : nullptr;
    return found != nullptr ? found->if_object() : nullptr;
}

/// How the messages of a channel are stored, by the schema of the state; none: as a type that is not known here.
std::optional<MessageForm> formOf(const json::object& schema, const std::string& channel) {
    const json::object* const properties = memberOf(&schema, "properties");
    if (properties == nullptr) return MessageForm::langchain;  // channels that are named at run time
    const json::object* const items = memberOf(memberOf(properties, channel), "items");
    const json::object* const members = memberOf(items, "properties");
    if (members == nullptr) return MessageForm::langchain;  // JSON
    if (members->contains("role") && members->contains("calls")) return MessageForm::typed;
    if (members->contains("role") && members->contains("content")) return MessageForm::plain;
    return {};
}

}  // namespace

MessageChannels::MessageChannels(const Graph& graph) : graphs_(stategraph::detail::describeGraphs(*graph.core())) {
    const json::value schema = stategraph::detail::readJson(graph.inputSchema(), 64).value;
    const json::object nothing;
    for (const DescribedChannel& each : graphs_.front().channels) {
        if (!holdsMessages(each)) continue;
        const json::object* const object = schema.if_object();
        if (const auto form = formOf(object != nullptr ? *object : nothing, each.name)) forms_[each.name] = *form;
    }
}

const GraphDescription* MessageChannels::at(std::span<const std::string> ns) const noexcept {
    const GraphDescription* graph = &graphs_.front();
    for (const std::string& place : ns) {
        const DescribedNode* const node = graph->findStored(std::string_view(place).substr(0, place.find(':')));
        if (node == nullptr || !node->subgraph) return nullptr;
        const auto inner = std::ranges::find(graphs_, *node->subgraph, &GraphDescription::fingerprint);
        if (inner == graphs_.end()) return nullptr;
        graph = &*inner;
    }
    return graph;
}

bool MessageChannels::has(std::string_view channel) const {
    const DescribedChannel* const found = description().findChannel(channel);
    return found != nullptr && holdsMessages(*found);
}

void MessageChannels::show(json::value& values, std::span<const std::string> ns) const {
    json::object* const object = values.if_object();
    const GraphDescription* const graph = object != nullptr ? at(ns) : nullptr;
    if (graph == nullptr) return;
    for (const DescribedChannel& each : graph->channels) {
        if (!holdsMessages(each)) continue;
        json::value* const messages = object->if_contains(each.name);
        if (messages == nullptr) continue;
        if (json::array* const list = messages->if_array()) {
            for (json::value& message : *list) message = toWire(message);
        } else {
            *messages = toWire(*messages);
        }
    }
}

void MessageChannels::read(json::object& values, std::span<const std::string> ns) const {
    const GraphDescription* const graph = at(ns);
    if (graph == nullptr) return;
    for (const DescribedChannel& each : graph->channels) {
        json::value* const messages = holdsMessages(each) ? values.if_contains(each.name) : nullptr;
        if (messages == nullptr || messages->is_null()) continue;
        const auto known = forms_.find(each.name);
        if (ns.empty() && known == forms_.end()) continue;
        const MessageForm form = ns.empty() ? known->second : MessageForm::langchain;
        json::array read;
        if (const json::array* const list = messages->if_array(); list != nullptr) {
            for (std::size_t i = 0; i < list->size(); ++i)
                read.push_back(fromWire((*list)[i], form, each.name + "[" + std::to_string(i) + "]"));
        } else {
            read.push_back(fromWire(*messages, form, each.name));
        }
        *messages = std::move(read);
    }
}

std::vector<std::string> placesOf(std::string_view ns) {
    std::vector<std::string> places;
    while (!ns.empty()) {
        const std::size_t bar = std::min(ns.find('|'), ns.size());
        places.emplace_back(ns.substr(0, bar));
        ns.remove_prefix(std::min(bar + 1, ns.size()));
    }
    return places;
}

}  // namespace stategraph::langgraph
