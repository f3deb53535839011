#pragma once
#include <stategraph/json.hpp>

namespace stategraph {

struct JsonSchema::Data {
    struct Channel {
        std::string name;
        JsonReducer reducer;
        std::vector<std::string> formerly;
    };
    std::vector<Channel> channels;
    std::optional<std::vector<std::string>> input;
    std::optional<std::vector<std::string>> output;
};

namespace detail {

/// A JsonSchema that has been checked, in the form that the engine needs. It is shared by graphs and states, and never
/// changes.
struct JsonLayout : std::enable_shared_from_this<JsonLayout> {
    /// Errors: InvalidGraphError with every fault.
    static std::shared_ptr<const JsonLayout> of(const JsonSchema& schema);
    explicit JsonLayout(const JsonSchema& schema);

    std::vector<JsonSlot> initial;
    Schema schema;
    std::vector<ChannelIndex> input;
    std::vector<ChannelIndex> output;

    /// Returns the layout of a state of JSON channels that the engine holds.
    static const JsonLayout& of(const Schema& schema) {
        return *static_cast<const JsonLayout*>(schema.state().context);
    }

    static JsonState makeState(const JsonLayout& layout);
    /// Gives a channel of a state a value, as the engine would. Errors: InvalidArgumentError for a name that no channel
    /// has.
    void assign(JsonState& state, std::string_view channel, const boost::json::value& value) const;
    static void keepOnly(JsonState& state, const std::vector<ChannelIndex>& channels);
    /// Removes the channels that the graph does not return.
    static void dropOthers(JsonState& state);
    static void keepOnly(JsonState& state, const ChannelSet& present);

private:
    static std::vector<JsonSlot> initialSlots(const JsonSchema::Data& data);
    static std::vector<ChannelSpec> channelSpecs(const JsonSchema::Data& data);
    static StateType stateType(const JsonLayout& layout);
    std::vector<ChannelIndex> indexes(const JsonSchema::Data& data,
                                      const std::optional<std::vector<std::string>>& names) const;
    static void check(const JsonSchema::Data& data);
};

/// Throws InvalidArgumentError that names the existing channels.
[[noreturn]] void failUnknownChannel(std::string_view channel, const Schema* schema);

}  // namespace detail
}  // namespace stategraph
