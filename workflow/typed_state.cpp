#include <stategraph/workflow/typed_state.hpp>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

// Converts between the values of a workflow's state and the channels of a struct, with their types and reducers.
namespace stategraph::workflow::detail {
namespace {

using stategraph::detail::ChannelSpec;
using stategraph::detail::Op;
using stategraph::detail::Writes;

/// An object of the struct, in its initial state.
class Object {
public:
    explicit Object(const Schema& schema) : schema_(schema), state_(schema.state().create(schema.state().context)) {}
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object() { schema_.state().destroy(state_); }

    void* value(const ChannelSpec& channel) const noexcept { return schema_.value(state_, channel); }
    void read(const ChannelSpec& channel, const Value& from) const {
        Decoder in(from.bytes());
        channel.behaviour->decode(in, value(channel));
    }
    Value write(const ChannelSpec& channel) const {
        std::string cbor;
        Encoder out(cbor);
        channel.behaviour->encode(channel, value(channel), out);
        return Value::fromCbor(std::move(cbor));
    }

private:
    const Schema& schema_;
    void* state_;
};

Value reduced(const Schema& schema, const ChannelSpec& channel, const Value& before, const Value& added) {
    const Object state(schema);
    const Object operand(schema);
    state.read(channel, before);
    operand.read(channel, added);
    Writes writes;
    channel.behaviour->write(channel, operand.value(channel), writes);
    std::vector<Op*> ops;
    for (Op& op : writes) ops.push_back(&op);
    channel.behaviour->apply(channel, state.value(channel), ops, nullptr);
    return state.write(channel);
}

// Returns what a run begins with: values of the channels' types, including the initial values of reducers.
Values beginningOf(const Schema& schema, const Values& given) {
    const Object state(schema);
    Values values;
    for (const auto& [key, value] : given) {
        const ChannelSpec* const channel = schema.find(key);
        if (channel == nullptr) throw WrongTypeError("the state has no '" + key + "'");
        try {
            state.read(*channel, value);
        } catch (const WrongTypeError& error) {
            throw WrongTypeError("'" + key + "': " + error.message());
        }
        values.insert_or_assign(channel->name, state.write(*channel));
    }
    for (const ChannelSpec& channel : schema.channels()) {
        if (beginsSet(channel.kind) && !values.contains(channel.name))
            values.emplace(channel.name, state.write(channel));
    }
    return values;
}

}  // namespace

void readState(const Schema& schema, const Values& from, void* state) {
    for (const auto& [key, value] : from) {
        const ChannelSpec* const channel = schema.find(key);
        if (channel == nullptr) continue;  // a channel of an earlier version of the struct
        Decoder in(value.bytes());
        channel->behaviour->decode(in, schema.value(state, *channel));
    }
}

void useState(Definition& definition, const Schema& schema) {
    for (const ChannelSpec& channel : schema.channels()) {
        if (!folds(channel.kind)) continue;
        definition.reducers.insert_or_assign(channel.name,
                                             [&schema, &channel](const Value& before, const Value& added) {
                                                 return reduced(schema, channel, before, added);
                                             });
    }
    definition.state = [&schema](Value given) { return Value(beginningOf(schema, given.as<Values>())); };
}

Values writeOf(const Schema& schema, std::size_t channel, stategraph::checkpoint::WriteKind kind, Value value) {
    using stategraph::checkpoint::WriteKind;
    const ChannelSpec& written = schema.channel(channel);
    const bool is_reduced = folds(written.kind);
    if (kind != (is_reduced ? WriteKind::add : WriteKind::set)) {
        throw InvalidUpdateError("'" + written.name + "' of a workflow's state " +
                                     (is_reduced ? "has a reducer: add to it, sg::add<&State::member>(…)"
                                                 : "has no reducer: set it, sg::set<&State::member>(…)"),
                                 {.channel = written.name});
    }
    return {{written.name, std::move(value)}};
}

}  // namespace stategraph::workflow::detail
