#pragma once
#include <memory>

#include <stategraph/channel.hpp>

namespace stategraph::detail {

template <class S>
inline constexpr auto channels_of = S::channels();

constexpr bool namesAreDistinct(const std::string_view* names, std::size_t size) noexcept {
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (names[i] == names[j]) return false;
        }
    }
    return true;
}

template <class Entry>
constexpr std::string_view* putNames(std::string_view* next, const Entry& entry) noexcept {
    *next++ = entry.name;
    for (const std::string_view former : entry.former) *next++ = former;
    return next;
}

template <std::size_t... I, class... Entry>
consteval bool hasDistinctNames(const PackOf<std::index_sequence<I...>, Entry...>& entries) {
    std::string_view names[1 + (std::size_t{0} + ... + (1 + Entry::former_size))];
    std::string_view* next = names;
    ((next = putNames(next, entries.PackItem<I, Entry>::value)), ...);
    return namesAreDistinct(names, static_cast<std::size_t>(next - names));
}

template <class S>
consteval void checkState() {
    static_assert(ChannelState<S>,
                  "stategraph: a state needs a table of its channels: static constexpr auto channels() { return "
                  "sg::channels(sg::channel(\"name\", &State::member), ...); }");
    if constexpr (ChannelState<S>) {
        constexpr std::size_t rows = decltype(S::channels().entries)::size;
        static_assert(hasArity<S, rows>(),
                      "stategraph: channels() must list every member of the state exactly once; add the missing "
                      "sg::channel(\"name\", &State::member)");
        static_assert(hasDistinctNames(channels_of<S>.entries),
                      "stategraph: two channels of the state have the same name; give each member its own");
    }
}

/// The index of a member's row in its state's table.
template <class S, class T>
ChannelIndex channelIndex(T S::*member) noexcept {
    const std::size_t place = placeOf(channels_of<S>.entries, member);
    return place < decltype(S::channels().entries)::size ? static_cast<ChannelIndex>(place) : channel_by_name;
}

template <class Entry>
void describeChannel(const Entry& entry, const typename Entry::State& sample, ChannelRow& row) {
    using Reducer = typename Entry::Reducer;
    using T = typename Entry::Type;
    if constexpr (!std::is_same_v<Reducer, RefusedReducer>) {
        row.name = entry.name;
        row.former = entry.former.data();
        row.former_size = entry.former.size();
        row.kind = Reducer::kind;
        row.reducer = entry.reducer.name;
        row.type = typeKey<T>();
        row.offset = static_cast<std::uint32_t>(reinterpret_cast<const char*>(&(sample.*entry.member)) -
                                                reinterpret_cast<const char*>(&sample));
        row.behaviour = behaviour_of<T, typename Reducer::template Fold<T>>;
        row.required = !entry.note.defaulted && !is_optional<T>;
        if constexpr (requires { entry.reducer.reduce; }) {
            row.context = std::make_shared<std::remove_cvref_t<decltype(entry.reducer.reduce)>>(entry.reducer.reduce);
        }
    }
}

template <class S, std::size_t... I, class... Entry>
Schema makeSchema(const PackOf<std::index_sequence<I...>, Entry...>& entries) {
    static constexpr StateType type{
        .type = typeKey<S>(),
        .create = [](const void*) -> void* { return ::new S{}; },
        .destroy = [](void* state) noexcept { ::delete static_cast<S*>(state); },
        .copy =
            [](void* to, const void* from) {
                if constexpr (std::is_copy_assignable_v<S>)
                    // Otherwise the check of its table reports that.
                    *static_cast<S*>(to) = *static_cast<const S*>(from);
            },
        .move =
            [](void* to, void* from) {
                if constexpr (std::is_move_assignable_v<S>)
                    *static_cast<S*>(to) = static_cast<S&&>(*static_cast<S*>(from));
            },
        .allows_unknown = allowsUnknownMembers<S>(),
    };
    const S sample{};
    ChannelRows rows(sizeof...(Entry));
    (describeChannel(entries.PackItem<I, Entry>::value, sample, rows[I]), ...);
    return Schema(type, rows);
}

/// The schema of a state struct. It is made at the first call and then shared. It is never destroyed, because runs may
/// be under way when the process ends.
template <class S>
const Schema& schemaOf() {
    checkState<S>();
    static const Schema* const schema = new Schema(makeSchema<S>(channels_of<S>.entries));
    return *schema;
}

}  // namespace stategraph::detail
