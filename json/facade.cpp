#include <stategraph/detail/graph_builder.hpp>
#include <stategraph/error.hpp>

#include "json/layout.hpp"
#include "json/operand.hpp"

// The functions that the templates of StateGraph and CompiledGraph need for JsonState.
namespace stategraph {

namespace json = boost::json;

Update<JsonState> Update<JsonState>::of(const json::object& values) {
    Update update;
    for (const auto& entry : values) update.write(std::string(entry.key()), entry.value());
    return update;
}

void Update<JsonState>::put(detail::JsonWrite write) {
    const bool has_value = write.kind != checkpoint::WriteKind::clear;
    add<detail::JsonOperand>(detail::channel_by_name, write.kind,
                             detail::JsonOperand{{std::move(write.value), has_value}, std::move(write.channel)});
}

namespace detail {
namespace {

InputType inputType() {
    // A task that an edge fires gets the state. A Send carries JSON of any shape.
    return {.type = typeKey<JsonState>(), .schema = nullptr, .payload = &value_ops<json::value>};
}

JsonState stateFrom(const json::value& payload, const Runtime& runtime, const JsonLayout& layout) {
    const json::object* values = payload.if_object();
    if (values == nullptr) {
        throw InvalidUpdateError(
            "a Send to node '" + std::string(runtime.node()) +
                "' must carry an object of channels: the node takes the state. Or let it take a boost::json::value",
            {.node = std::string(runtime.node())});
    }
    // The node sees only the payload, so the state's other channels are as if they had no value.
    JsonState state = JsonLayout::makeState(layout);
    JsonLayout::keepOnly(state, std::vector<ChannelIndex>());
    for (const auto& entry : *values) {
        try {
            layout.assign(state, std::string_view(entry.key()), entry.value());
        } catch (const InvalidArgumentError& unknown) {
            throw InvalidUpdateError("a Send to node '" + std::string(runtime.node()) +
                                         "' carries a member that is not a channel: " + unknown.message(),
                                     {.node = std::string(runtime.node()), .channel = std::string(entry.key())});
        }
    }
    return state;
}

}  // namespace

void StateDescription<JsonState>::describe(const JsonSchema& schema, GraphSpec& spec) {
    const auto layout = JsonLayout::of(schema);
    spec.state = &layout->schema;
    spec.input = layout->input;
    spec.output = layout->output;
    spec.keep_alive = layout;
}

void StateDescription<JsonState>::describePayload(SubgraphSpec& spec) {
    spec.payload = &value_ops<json::value>;
    spec.from_payload = [](const stategraph::detail::Schema& inner, const void* payload, Writes& input) {
        const json::object* values = static_cast<const json::value*>(payload)->if_object();
        if (values == nullptr) return;
        const JsonLayout& layout = JsonLayout::of(inner);
        for (const ChannelIndex index : layout.input) {
            const ChannelSpec& channel = inner.channel(index);
            const json::value* value = values->if_contains(channel.name);
            const JsonSlot slot{value != nullptr ? SharedJson(*value) : SharedJson(), value != nullptr};
            channel.behaviour->write(channel, &slot, input);
        }
    };
}

InputType NodeInput<JsonState, JsonState>::type() { return inputType(); }
InputType NodeInput<JsonState, json::value>::type() { return inputType(); }

JsonInput<JsonState> NodeInput<JsonState, JsonState>::from(const void* input, Runtime& runtime) {
    if (!hasPayload(runtime)) return JsonInput<JsonState>(*static_cast<const JsonState*>(input));
    return JsonInput<JsonState>(
        stateFrom(*static_cast<const json::value*>(input), runtime, JsonLayout::of(graphSchema(runtime))));
}

JsonInput<json::value> NodeInput<JsonState, json::value>::from(const void* input, Runtime& runtime) {
    if (hasPayload(runtime)) return JsonInput<json::value>(*static_cast<const json::value*>(input));
    return JsonInput<json::value>(json::value(static_cast<const JsonState*>(input)->toObject()));
}

template <>
void keepPresent<JsonState>(JsonState& state, const ChannelSet& present) {
    JsonLayout::keepOnly(state, present);
}

template <>
JsonState project<JsonState, JsonState>(JsonState&& state) {
    JsonLayout::dropOthers(state);
    return std::move(state);
}

}  // namespace detail
}  // namespace stategraph
