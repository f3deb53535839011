#pragma once
/// Graphs whose channels are named at run time and hold JSON: `StateGraph<JsonState>`, and boost::json values as values
/// of channels, payloads and answers. With shared_json.hpp the only header of the library that includes
/// <boost/json.hpp>.
#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/channel.hpp>
#include <stategraph/graph.hpp>
#include <stategraph/json_number.hpp>
#include <stategraph/shared_json.hpp>

namespace stategraph {

/// JSON as CBOR. Integers are kept exactly, 64 bits signed or unsigned. An object's keys are written in encoded order,
/// so an object that is read back lists them in that order. When the stored value did not come from JSON, bytes are
/// read as a string of those bytes, and a key that is not text as its JSON text.
template <>
struct Codec<boost::json::value> {
    static constexpr bool is_any_shape = true;
    static constexpr std::string_view json_schema = R"({})";
    static void encode(Encoder& encoder, const boost::json::value& value);
    static void decode(Decoder& decoder, boost::json::value& value);
};
template <>
struct Codec<boost::json::object> {
    static constexpr std::string_view json_schema = R"({"type":"object"})";
    static void encode(Encoder& encoder, const boost::json::object& value);
    static void decode(Decoder& decoder, boost::json::object& value);
};
template <>
struct Codec<boost::json::array> {
    static constexpr std::string_view json_schema = R"({"type":"array"})";
    static void encode(Encoder& encoder, const boost::json::array& value);
    static void decode(Decoder& decoder, boost::json::array& value);
};
template <>
struct Codec<boost::json::string> {
    static constexpr std::string_view json_schema = R"({"type":"string"})";
    static void encode(Encoder& encoder, const boost::json::string& value);
    static void decode(Decoder& decoder, boost::json::string& value);
};

Value fromJson(const boost::json::value& json);
/// A storable value as JSON.
boost::json::value toJsonValue(const Value& value);
/// Reads JSON that comes from outside. Errors: WrongTypeError (Value::asStrict).
template <class T, std::same_as<boost::json::value> Json>
T fromJson(const Json& json) {
    return fromJson(json).template asStrict<T>();
}

class JsonState;

namespace detail {

struct JsonLayout;

/// A channel's value, and whether it has one.
struct JsonSlot {
    SharedJson json;
    bool set = false;
};

/// Converts what is JSON, or can be converted to it (boost::json::value_from), to JSON that does not refer to the
/// caller's memory.
boost::json::value ownJson(boost::json::value value);
template <class T>
boost::json::value toOwnJson(T&& value) {
    if constexpr (std::convertible_to<T&&, boost::json::value>) {
        return ownJson(std::forward<T>(value));
    } else {
        return boost::json::value_from(std::forward<T>(value));
    }
}

template <class T>
SharedJson toShared(T&& value) {
    if constexpr (std::same_as<std::remove_cvref_t<T>, SharedJson>) {
        return std::forward<T>(value);
    } else {
        return toOwnJson(std::forward<T>(value));
    }
}

/// One operation on a channel that is known by its name.
struct JsonWrite {
    JsonWrite(std::string c, checkpoint::WriteKind k, SharedJson v)
        : channel(std::move(c)), kind(k), value(std::move(v)) {}
    std::string channel;
    checkpoint::WriteKind kind;
    SharedJson value;
};

}  // namespace detail

/// How a channel of a JsonState takes what tasks write to it.
class JsonReducer {
public:
    using Function =
        std::function<boost::json::value(const boost::json::value& value, const boost::json::value& written)>;
    using SharedFunction = std::function<SharedJson(const SharedJson& value, const SharedJson& written)>;

    /// A reducer of channels in structs, if it calculates with numbers: `schema.channel("n", sg::sum)`. A run
    /// that applies it to a value that is not a number ends with InvalidUpdateError.
    template <class F>
        requires(std::is_invocable_r_v<JsonNumber, const F&, const JsonNumber&, const JsonNumber&>)
    JsonReducer(const detail::reducers::Binary<F>& reducer, boost::json::value initial = 0)
        : JsonReducer(binary(std::string(reducer.name), withNumbers(reducer.reduce), std::move(initial))) {}

    /// One value per superstep; unset until it is written. This is the kind of a channel without a reducer.
    static JsonReducer lastValue();
    /// Several tasks may write, and the last value counts. It is unset after a superstep that wrote none.
    static JsonReducer anyValue();
    /// One value, which only the next superstep sees.
    static JsonReducer ephemeral();
    /// Like lastValue, but never stored.
    static JsonReducer untracked();
    /// A list: a written list is added at its end, any other value as one element.
    static JsonReducer append(boost::json::array initial = {});
    /// A list that is empty at the beginning of each superstep.
    static JsonReducer topic();
    /// Reducers of numbers. A sum of integers stays an integer while it fits into 64 bits; with a double in it, it is a
    /// double.
    static JsonReducer sum(boost::json::value initial = 0);
    static JsonReducer min(boost::json::value initial = 0);
    static JsonReducer max(boost::json::value initial = 0);
    /// An object: written entries replace those with the same key, only at the top level.
    static JsonReducer merge(boost::json::object initial = {});
    /// A list of messages, objects with a string "id" (created if missing or null): a message with a known id
    /// replaces that message, and others are added at the end. {"type": "remove", "id": …} removes one; with the id
    /// "__remove_all__" it removes all messages before it.
    static JsonReducer messages();
    /// A reducer of your own: `value = f(value, written)`. `name` is stored; change it when the operation changes. `f`
    /// is called on the thread that drives the run.
    static JsonReducer binary(std::string name, Function f, boost::json::value initial);
    /// Like `binary`, for an `f` that returns its arguments, or parts of them, without copying them.
    static JsonReducer binaryShared(std::string name, SharedFunction f, boost::json::value initial);

private:
    friend struct detail::JsonLayout;
    template <class F>
    static Function withNumbers(F reduce) {
        return [reduce](const boost::json::value& value, const boost::json::value& written) {
            return static_cast<JsonNumber>(reduce(JsonNumber(value), JsonNumber(written))).toJson();
        };
    }
    JsonReducer(detail::ChannelKind kind, std::string name, const detail::Behaviour& behaviour,
                boost::json::value initial = nullptr, std::shared_ptr<const void> context = nullptr);

    detail::ChannelKind kind_;
    std::string name_;
    const detail::Behaviour* behaviour_;
    boost::json::value initial_;
    std::shared_ptr<const void> context_;
};

/// The channels of a JsonState. A value; copies share what they hold until one is changed. Nothing is checked before a
/// graph is created from it.
///
///     sg::JsonSchema schema;
///     schema.channel("foo").channel("bar", sg::JsonReducer::append()).input({"foo"}).output({"bar"});
class JsonSchema {
public:
    JsonSchema();
    JsonSchema(const JsonSchema&) = default;  // moving is copying, so an object that was moved from stays as it was
    JsonSchema& operator=(const JsonSchema&) = default;
    ~JsonSchema() = default;

    /// `formerly`: names under which older checkpoints know the channel.
    JsonSchema& channel(std::string name, JsonReducer reducer = JsonReducer::lastValue(),
                        std::vector<std::string> formerly = {});
    /// The channels that the graph accepts as input, and those that it returns; by default all.
    JsonSchema& input(std::vector<std::string> channels);
    JsonSchema& output(std::vector<std::string> channels);

private:
    friend struct detail::JsonLayout;
    struct Data;
    Data& change();
    std::shared_ptr<Data> data_;
};

/// The values of channels by name; unset ones are absent. A value type: copies share the channels' values. Safe from
/// several threads as long as none changes it.
class JsonState {
public:
    /// Has no channels: an output has this state before it is assigned.
    JsonState() noexcept = default;
    /// Creates, for tests of nodes, the state before any write, with `values` set. Errors: InvalidGraphError,
    /// InvalidArgumentError (an unknown channel).
    explicit JsonState(const JsonSchema& schema, const boost::json::object& values = {});

    bool has(std::string_view channel) const noexcept;
    /// The value of a channel; null if there is no such channel or it is unset. Cost: as SharedJson::get.
    const boost::json::value* find(std::string_view channel) const;
    /// Returns the value of a channel. Errors: InvalidArgumentError if there is no such channel or it is unset.
    const boost::json::value& at(std::string_view channel) const;
    /// null if the channel is unset. Errors: InvalidArgumentError if there is no such channel.
    const boost::json::value& operator[](std::string_view channel) const;
    /// The value that `operator[]` refers to, as a pointer that can be kept and written without a copy; so can any part
    /// of it. Read a channel whose values are passed on in this way only in this way (docs/values.md). Errors: those of
    /// `operator[]`.
    SharedJson shared(std::string_view channel) const;
    /// A copy of all set channels, in the order in which the schema names them.
    boost::json::object toObject() const;
    /// Does the same, so that nodes and routers may take a `const boost::json::value&`.
    operator boost::json::value() const { return toObject(); }

    /// Whether channels of the same names have the same values.
    friend bool operator==(const JsonState& a, const JsonState& b) { return a.toObject() == b.toObject(); }
    friend std::ostream& operator<<(std::ostream& out, const JsonState& state);

private:
    friend struct detail::JsonLayout;
    std::shared_ptr<const detail::JsonLayout> layout_;
    std::vector<detail::JsonSlot> slots_;
};

/// Gives a channel a value, through its reducer if it has one. `value` is JSON, a SharedJson, which is not copied, or
/// what boost::json::value_from takes.
template <class T = boost::json::value>
detail::JsonWrite write(std::string channel, T&& value) {
    return {std::move(channel), checkpoint::WriteKind::write, detail::toShared(std::forward<T>(value))};
}
/// Replaces what a channel holds, without its reducer. It wins over the other writes of its superstep; two overwrites
/// are an error.
template <class T = boost::json::value>
detail::JsonWrite overwrite(std::string channel, T&& value) {
    return {std::move(channel), checkpoint::WriteKind::overwrite, detail::toShared(std::forward<T>(value))};
}
/// Resets a channel to its state before any write. It counts as an overwrite.
inline detail::JsonWrite clear(std::string channel) { return {std::move(channel), checkpoint::WriteKind::clear, {}}; }

/// What a node of a JSON graph returns: operations on channels by name, applied in order when the superstep ends. A
/// name that belongs to no channel causes an InvalidUpdateError when the update is used.
///
///     return {sg::write("foo", 1), sg::write("bar", {"a", "b"})};
template <>
class Update<JsonState> : public detail::Writes {
public:
    Update() = default;

    template <class... W>
        requires(sizeof...(W) > 0 && (std::same_as<std::remove_cvref_t<W>, detail::JsonWrite> && ...))
    Update(W&&... writes) {
        (put(std::forward<W>(writes)), ...);
    }

    /// One write for each key.
    static Update of(const boost::json::object& values);

    Update& with(detail::JsonWrite write) {
        put(std::move(write));
        return *this;
    }
    template <class T = boost::json::value>
    Update& write(std::string channel, T&& value) {
        return with(stategraph::write(std::move(channel), std::forward<T>(value)));
    }
    template <class T = boost::json::value>
    Update& overwrite(std::string channel, T&& value) {
        return with(stategraph::overwrite(std::move(channel), std::forward<T>(value)));
    }
    Update& clear(std::string channel) { return with(stategraph::clear(std::move(channel))); }

private:
    void put(detail::JsonWrite write);
};

namespace detail {

/// A graph of JsonState is made from a JsonSchema: `sg::StateGraph<sg::JsonState> graph(schema);`
template <>
struct StateDescription<JsonState> {
    using Schema = JsonSchema;
    static void describe(const JsonSchema& schema, GraphSpec& spec);

    template <class Input, class Output>
    static void describe(GraphSpec&) {
        static_assert(
            !std::same_as<Input, Input>,
            "stategraph: a graph of JsonState needs a JsonSchema: sg::StateGraph<sg::JsonState> graph(schema)");
    }
    static void describePayload(SubgraphSpec& spec);
};

/// A node's input, converted from what the engine passes if that has another type.
template <class In>
class JsonInput {
public:
    explicit JsonInput(const In& given) : given_(&given) {}
    explicit JsonInput(In&& made) : made_(std::move(made)) {}
    operator const In&() const noexcept { return made_ ? *made_ : *given_; }

private:
    std::optional<In> made_;
    const In* given_ = nullptr;
};

template <>
struct NodeInput<JsonState, JsonState> {
    static InputType type();
    static JsonInput<JsonState> from(const void* input, Runtime& runtime);
};
/// The state as an object, or a Send's payload as it was sent.
template <>
struct NodeInput<JsonState, boost::json::value> {
    static InputType type();
    static JsonInput<boost::json::value> from(const void* input, Runtime& runtime);
};

// For callables that are not tied to a graph (cache keys).
template <>
struct NodeInput<void, JsonState> : NodeInput<JsonState, JsonState> {};
template <>
struct NodeInput<void, boost::json::value> : NodeInput<JsonState, boost::json::value> {};

template <>
void keepPresent<JsonState>(JsonState& state, const ChannelSet& present);

/// Leaves out channels that the graph does not return.
template <>
JsonState project<JsonState, JsonState>(JsonState&& state);

}  // namespace detail
}  // namespace stategraph
