#include "json/layout.hpp"

#include <algorithm>
#include <set>

#include <stategraph/error.hpp>

namespace stategraph::detail {
namespace {

constexpr std::size_t channels_max = channel_by_name;

JsonState& stateAt(void* state) noexcept { return *static_cast<JsonState*>(state); }

}  // namespace

std::shared_ptr<const JsonLayout> JsonLayout::of(const JsonSchema& schema) {
    check(*schema.data_);
    return std::make_shared<const JsonLayout>(schema);
}

JsonLayout::JsonLayout(const JsonSchema& from)
    : initial(initialSlots(*from.data_)),
      schema(stateType(*this), channelSpecs(*from.data_)),
      input(indexes(*from.data_, from.data_->input)),
      output(indexes(*from.data_, from.data_->output)) {}

void JsonLayout::check(const JsonSchema::Data& data) {
    std::vector<std::string> faults;
    std::set<std::string_view> names;
    const auto addName = [&](const std::string& name) {
        if (name.empty()) {
            faults.emplace_back("a channel has an empty name; give it one");
        } else if (!names.insert(name).second) {
            faults.push_back("channel '" + name + "' occurs twice; give each channel a name of its own");
        }
    };
    for (const auto& channel : data.channels) {
        addName(channel.name);
        for (const auto& former : channel.formerly) addName(former);
    }
    if (data.channels.size() > channels_max) {
        faults.push_back("the schema has " + std::to_string(data.channels.size()) + " channels, and at most " +
                         std::to_string(channels_max) + " fit");
    }
    const auto checkPart = [&](const std::optional<std::vector<std::string>>& part, const std::string& which) {
        if (!part) return;
        std::set<std::string_view> seen;
        for (const auto& name : *part) {
            const bool known = std::any_of(data.channels.begin(), data.channels.end(),
                                           [&](const auto& channel) { return channel.name == name; });
            if (!known) faults.push_back(which + " names '" + name + "', and there is no such channel");
            if (!seen.insert(name).second) faults.push_back(which + " names channel '" + name + "' twice");
        }
    };
    checkPart(data.input, "input");
    checkPart(data.output, "output");
    if (!faults.empty()) throw InvalidGraphError(std::move(faults));
}

std::vector<JsonSlot> JsonLayout::initialSlots(const JsonSchema::Data& data) {
    std::vector<JsonSlot> slots;
    for (const auto& channel : data.channels) {
        slots.push_back({SharedJson(channel.reducer.initial_), beginsSet(channel.reducer.kind_)});
    }
    return slots;
}

std::vector<ChannelSpec> JsonLayout::channelSpecs(const JsonSchema::Data& data) {
    std::vector<ChannelSpec> specs;
    for (const auto& channel : data.channels) {
        ChannelSpec spec;
        spec.name = channel.name;
        spec.former_names = channel.formerly;
        spec.kind = channel.reducer.kind_;
        spec.reducer = channel.reducer.name_;
        spec.type = typeKey<JsonSlot>();
        spec.offset = static_cast<std::uint32_t>(specs.size() * sizeof(JsonSlot));
        spec.behaviour = channel.reducer.behaviour_;
        spec.context = channel.reducer.context_;
        specs.push_back(std::move(spec));
    }
    return specs;
}

StateType JsonLayout::stateType(const JsonLayout& layout) {
    return {
        .type = typeKey<JsonState>(),
        .create = [](const void* context) -> void* {
            return new JsonState(makeState(*static_cast<const JsonLayout*>(context)));
        },
        .destroy = [](void* state) noexcept { delete static_cast<JsonState*>(state); },
        .copy = [](void* to, const void* from) { stateAt(to) = *static_cast<const JsonState*>(from); },
        .move = [](void* to, void* from) { stateAt(to) = std::move(stateAt(from)); },
        .base = [](void* state) noexcept -> void* { return stateAt(state).slots_.data(); },
        .context = &layout,
    };
}

std::vector<ChannelIndex> JsonLayout::indexes(const JsonSchema::Data& data,
                                              const std::optional<std::vector<std::string>>& names) const {
    std::vector<ChannelIndex> found;
    if (names) {
        for (const auto& name : *names) found.push_back(schema.find(name)->index);
    } else {
        for (std::size_t i = 0; i < data.channels.size(); ++i) found.push_back(static_cast<ChannelIndex>(i));
    }
    return found;
}

JsonState JsonLayout::makeState(const JsonLayout& layout) {
    JsonState state;
    // None for the layout's own initial state, which would otherwise keep the layout alive.
    state.layout_ = layout.weak_from_this().lock();
    state.slots_ = layout.initial;
    return state;
}

void JsonLayout::assign(JsonState& state, std::string_view channel, const boost::json::value& value) const {
    const ChannelSpec* spec = schema.find(channel);
    if (spec == nullptr) failUnknownChannel(channel, &schema);
    state.slots_[spec->index] = {SharedJson(ownJson(value)), true};
}

void JsonLayout::keepOnly(JsonState& state, const std::vector<ChannelIndex>& channels) {
    if (channels.size() == state.slots_.size()) return;
    for (std::size_t i = 0; i < state.slots_.size(); ++i) {
        if (std::find(channels.begin(), channels.end(), i) == channels.end()) state.slots_[i] = {};
    }
}

void JsonLayout::keepOnly(JsonState& state, const ChannelSet& present) {
    for (std::size_t i = 0; i < state.slots_.size(); ++i) {
        if (!present.test(i)) state.slots_[i] = {};
    }
}

void JsonLayout::dropOthers(JsonState& state) {
    if (state.layout_ != nullptr) keepOnly(state, state.layout_->output);
}

void failUnknownChannel(std::string_view channel, const Schema* schema) {
    std::string known;
    if (schema != nullptr) {
        for (const auto& each : schema->channels()) known += (known.empty() ? "" : ", ") + each.name;
    }
    throw InvalidArgumentError(
        "there is no channel '" + std::string(channel) + "'; the state has " + (known.empty() ? "none" : known),
        {.channel = std::string(channel)});
}

}  // namespace stategraph::detail
