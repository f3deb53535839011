#pragma once
#include <string>
#include <type_traits>
#include <utility>

#include <stategraph/update.hpp>
#include <stategraph/workflow/definition.hpp>

// A workflow's state as a struct with a table of its channels, as a graph's state has one.
namespace stategraph::workflow {
namespace detail {

using stategraph::detail::Schema;

/// Reads the stored channels of the struct into `state`, an object of its type. Errors: WrongTypeError.
void readState(const Schema& schema, const Values& from, void* state);
/// Makes the channels' reducers those of the definition, and checks that its state matches the struct.
void useState(Definition& definition, const Schema& schema);
/// Converts a write to values for a workflow's state. Errors: InvalidUpdateError for one that skips the channel's
/// reducer.
Values writeOf(const Schema& schema, std::size_t channel, stategraph::checkpoint::WriteKind kind, Value value);

template <std::size_t... I, class... Entry>
consteval bool hasLastingChannels(const stategraph::detail::PackOf<std::index_sequence<I...>, Entry...>&) {
    return ((isStored(Entry::Reducer::kind) && !isTransient(Entry::Reducer::kind)) && ...);
}

template <class S>
consteval void checkState() {
    static_assert(ChannelState<S>, "stategraph: a workflow's state needs a table of its channels: channels()");
    if constexpr (ChannelState<S>) {
        static_assert(hasLastingChannels(stategraph::detail::channels_of<S>.entries),
                      "stategraph: a workflow's state has channels with a reducer or without one; ephemeral, topic, "
                      "untracked and any_value live for supersteps, which workflows do not show");
    }
}

template <class S, class T, class V>
Values valuesOf(stategraph::detail::MemberWrite<S, T, V> write) {
    const auto& schema = stategraph::detail::schemaOf<S>();
    const std::size_t channel = stategraph::detail::channelIndex(write.member);
    if constexpr (std::is_same_v<T, V>) {
        return writeOf(schema, channel, write.kind, Value(write.value));
    } else {
        T list{};
        list.push_back(std::move(write.value));
        return writeOf(schema, channel, write.kind, Value(list));
    }
}

}  // namespace detail

/// A workflow's state as the struct that its steps use (Chain::state), from RunView::state, RunOptions::state or
/// Scope::state. Channels without a value have their initial one. Errors: WrongTypeError.
template <ChannelState S>
S stateOf(const Values& values) {
    S state{};
    detail::readState(stategraph::detail::schemaOf<S>(), values, &state);
    return state;
}

}  // namespace stategraph::workflow
