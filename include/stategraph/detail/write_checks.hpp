#pragma once
#include <type_traits>

#include <stategraph/detail/member_name.hpp>
#include <stategraph/detail/state_schema.hpp>

// Whether a write fits the reducer of its channel, as far as the compiler can know it.
namespace stategraph::detail {

/// Counts for some channels of a state's table: how many take `set`, and how many `add`.
struct WritesTaken {
    int sets = 0;
    int adds = 0;
    int unknown = 0;  // for channels that were refused, which another error reports

    constexpr void count(ChannelKind kind) { ++(folds(kind) ? adds : sets); }
};

template <class Entry, class M>
constexpr void countWrites(const Entry& entry, M member, WritesTaken& taken) {
    if constexpr (std::is_same_v<decltype(entry.member), M>) {
        if (entry.member != member) return;
        if constexpr (std::is_same_v<typename Entry::Reducer, RefusedReducer>) {
            ++taken.unknown;
        } else {
            taken.count(Entry::Reducer::kind);
        }
    }
}
template <class Entry, class T>
constexpr void countWritesOfType(WritesTaken& taken) {
    if constexpr (std::is_same_v<typename Entry::Reducer, RefusedReducer>) {
        ++taken.unknown;
    } else if constexpr (std::is_same_v<typename Entry::Type, T>) {
        taken.count(Entry::Reducer::kind);
    }
}

template <class M, std::size_t... I, class... Entry>
consteval WritesTaken writesTakenBy(const PackOf<std::index_sequence<I...>, Entry...>& entries, M member) {
    WritesTaken taken;
    (countWrites(entries.PackItem<I, Entry>::value, member, taken), ...);
    return taken;
}
template <class T, std::size_t... I, class... Entry>
consteval WritesTaken writesTakenByType(const PackOf<std::index_sequence<I...>, Entry...>&) {
    WritesTaken taken;
    (countWritesOfType<Entry, T>(taken), ...);
    return taken;
}

template <auto Member>
consteval WritesTaken writesTaken() {
    if constexpr (ChannelState<StateOfMember<Member>>) {
        return writesTakenBy(channels_of<StateOfMember<Member>>.entries, Member);
    } else {
        return {.unknown = 1};
    }
}
template <class S, class T>
consteval WritesTaken writesTakenOfType() {
    if constexpr (ChannelState<S>) {
        return writesTakenByType<T>(channels_of<S>.entries);
    } else {
        return {.unknown = 1};
    }
}

template <bool IsRight>
consteval void requireSet() {
    static_assert(IsRight,
                  "stategraph: this channel has a reducer: give it a value with sg::add, or replace what it holds with "
                  "sg::overwrite");
}
template <bool IsRight>
consteval void requireAdd() {
    static_assert(
        IsRight,
        "stategraph: this channel has no reducer: give it its value with sg::set, or give it a reducer in channels()");
}

template <auto Member>
consteval void checkSet() {
    constexpr WritesTaken taken = writesTaken<Member>();
    requireSet<taken.unknown != 0 || taken.adds == 0>();
}
template <auto Member>
consteval void checkAdd() {
    constexpr WritesTaken taken = writesTaken<Member>();
    requireAdd<taken.unknown != 0 || taken.sets == 0>();
}
template <class S, class T>
consteval void checkSetOfType() {
    constexpr WritesTaken taken = writesTakenOfType<S, T>();
    requireSet<taken.unknown != 0 || taken.sets != 0 || taken.adds == 0>();
}
template <class S, class T>
consteval void checkAddOfType() {
    constexpr WritesTaken taken = writesTakenOfType<S, T>();
    requireAdd<taken.unknown != 0 || taken.adds != 0 || taken.sets == 0>();
}

}  // namespace stategraph::detail
