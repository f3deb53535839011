#pragma once
#include <memory>
#include <vector>

#include <stategraph/channel.hpp>

namespace stategraph::detail {

template <class S>
consteval bool namesAreDistinct() {
    constexpr auto table = S::channels();
    bool distinct = true;
    std::apply(
        [&](const auto&... entry) {
            const std::string_view names[] = {entry.name...};
            for (std::size_t i = 0; i < sizeof...(entry); ++i) {
                for (std::size_t j = 0; j < i; ++j) distinct = distinct && names[i] != names[j];
            }
        },
        table.entries);
    return distinct;
}

template <class S>
consteval void checkState() {
    static_assert(ChannelState<S>,
                  "stategraph: a state needs a table of its channels: static constexpr auto channels() { return "
                  "sg::channels(sg::channel(\"name\", &State::member), ...); }");
    if constexpr (ChannelState<S>) {
        constexpr std::size_t rows = std::tuple_size_v<decltype(S::channels().entries)>;
        static_assert(hasArity<S, rows>(),
                      "stategraph: channels() must list every member of the state exactly once; add the missing "
                      "sg::channel(\"name\", &State::member)");
        static_assert(namesAreDistinct<S>(),
                      "stategraph: two channels of the state have the same name; give each member its own");
    }
}

/// The index of a member's row in its state's table.
template <class S, class T>
ChannelIndex channelIndex(T S::*member) noexcept {
    constexpr auto table = S::channels();
    ChannelIndex index = 0;
    ChannelIndex found = channel_by_name;
    std::apply(
        [&](const auto&... entry) {
            const auto look = [&](const auto& row) {
                if constexpr (std::is_same_v<std::remove_cvref_t<decltype(row.member)>, T S::*>) {
                    if (row.member == member) found = index;
                }
                ++index;
            };
            (look(entry), ...);
        },
        table.entries);
    return found;
}

template <class Entry>
ChannelSpec describeChannel(const Entry& entry, const typename Entry::State& sample) {
    using Reducer = typename Entry::Reducer;
    using T = typename Entry::Type;
    ChannelSpec spec;
    if constexpr (!std::is_same_v<Reducer, RefusedReducer>) {
        spec.name = entry.name;
        for (const auto former : entry.former) spec.former_names.emplace_back(former);
        spec.kind = Reducer::kind;
        spec.reducer = entry.reducer.name;
        spec.type = typeKey<T>();
        spec.offset = static_cast<std::uint32_t>(reinterpret_cast<const char*>(&(sample.*entry.member)) -
                                                 reinterpret_cast<const char*>(&sample));
        spec.behaviour = &behaviour_of<T, typename Reducer::template Fold<T>>;
        if constexpr (requires { entry.reducer.reduce; }) {
            spec.context = std::make_shared<std::remove_cvref_t<decltype(entry.reducer.reduce)>>(entry.reducer.reduce);
        }
    }
    return spec;
}

template <class S>
Schema makeSchema() {
    StateType type{
        .type = typeKey<S>(),
        .create = [](const void*) -> void* { return new S{}; },
        .destroy = [](void* state) noexcept { delete static_cast<S*>(state); },
        .copy = [](void* to, const void* from) { *static_cast<S*>(to) = *static_cast<const S*>(from); },
        .move = [](void* to, void* from) { *static_cast<S*>(to) = std::move(*static_cast<S*>(from)); },
    };
    const S sample{};
    std::vector<ChannelSpec> channels;
    std::apply([&](const auto&... entry) { (channels.push_back(describeChannel(entry, sample)), ...); },
               S::channels().entries);
    return Schema(type, std::move(channels));
}

/// The schema of a state struct; made at the first call, then shared.
template <class S>
const Schema& schemaOf() {
    checkState<S>();
    static const Schema schema = makeSchema<S>();
    return schema;
}

}  // namespace stategraph::detail
