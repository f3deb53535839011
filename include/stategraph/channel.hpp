#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/codec.hpp>
#include <stategraph/detail/arity.hpp>
#include <stategraph/detail/behaviours.hpp>
#include <stategraph/detail/member_name.hpp>
#include <stategraph/fields.hpp>

namespace stategraph {

namespace detail {
/// Throws the error of a sum of integers that does not fit into its type. Negative terms are given as in two's
/// complement.
[[noreturn]] void refuseSum(std::uint64_t a, std::uint64_t b, bool is_signed, std::size_t bits);
}  // namespace detail

// The types of the reducers and channel kinds, of which the constants below are objects. Each has a stable name, which
// is stored with the graph's fingerprint.
namespace detail {
namespace reducers {

/// A type that `append` can add to.
template <class T>
concept List = requires(T list, typename T::value_type item) {
    list.push_back(std::move(item));
    list.insert(list.end(), list.begin(), list.end());
    { list.size() } -> std::convertible_to<std::size_t>;
} && !std::is_same_v<T, std::string>;

/// A type that `merge` can add to.
template <class T>
concept Map = requires(T map, typename T::key_type key, typename T::mapped_type value) {
    map.insert_or_assign(key, value);
    map.find(key);
};

struct LastValue {
    static constexpr std::string_view name = "";
    static constexpr detail::ChannelKind kind = detail::ChannelKind::last_value;
    template <class T>
    using Fold = detail::ReplaceFold<T>;
    template <class T>
    static constexpr bool fits = true;
    template <class T>
    static consteval void check() {}
};

struct AnyOf : LastValue {
    static constexpr detail::ChannelKind kind = detail::ChannelKind::any_value;
};

struct Ephemeral : LastValue {
    static constexpr detail::ChannelKind kind = detail::ChannelKind::ephemeral;
};

struct Untracked : LastValue {
    static constexpr detail::ChannelKind kind = detail::ChannelKind::untracked;
    template <class T>
    using Fold = std::conditional_t<detail::wholly_storable<T>, detail::ReplaceFold<T>, detail::UnstoredFold<T>>;
    template <class T>
    static constexpr bool fits = std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>;
    template <class T>
    static consteval void check() {
        static_assert(fits<T>,
                      "stategraph: the value of an untracked channel must be copyable, as tasks that run at once have "
                      "a state each; hold what "
                      "is not by a std::shared_ptr");
    }
};

struct Reduced {
    static constexpr detail::ChannelKind kind = detail::ChannelKind::reduced;
};

struct Append : Reduced {
    static constexpr std::string_view name = "append";
    template <class T>
    using Fold = detail::AppendFold<T>;
    template <class T>
    static constexpr bool fits = List<T>;
    template <class T>
    static consteval void check() {
        static_assert(fits<T>, "stategraph: sg::append needs a list, such as std::vector");
    }
};

struct Topic {
    static constexpr std::string_view name = "topic";
    static constexpr detail::ChannelKind kind = detail::ChannelKind::topic;
    template <class T>
    using Fold = detail::TopicFold<T>;
    template <class T>
    static constexpr bool fits = List<T>;
    template <class T>
    static consteval void check() {
        static_assert(fits<T>, "stategraph: sg::topic needs a list, such as std::vector");
    }
};

struct Merge : Reduced {
    static constexpr std::string_view name = "merge";
    template <class S, class T>
    auto operator()(T S::*member, std::type_identity_t<T> entries) const;  // defined in update.hpp
    template <class T>
    using Fold = detail::MergeFold<T>;
    template <class T>
    static constexpr bool fits = Map<T>;
    template <class T>
    static consteval void check() {
        static_assert(fits<T>, "stategraph: sg::merge needs a map, such as std::map<std::string, int>");
    }
};

/// Any binary operation: `value = f(value, written)`.
template <class F>
struct Binary : Reduced {
    constexpr Binary(std::string_view name_, F reduce_) : name(name_), reduce(std::move(reduce_)) {}
    std::string_view name;
    F reduce;

    template <class T>
    using Fold = detail::BinaryFold<T, F>;
    template <class T>
    static constexpr bool fits = std::is_invocable_r_v<T, const F&, const T&, const T&>;
    template <class T>
    static consteval void check() {
        static_assert(
            fits<T>,
            "stategraph: a reducer must be callable as T f(const T& value, const T& written) for its member's type T; "
            "sg::sum needs a type with +, sg::min and sg::max need one with <, and a list takes sg::append");
    }
};

struct Sum {
    template <class T>
        requires requires(const T& value) { static_cast<T>(value + value); }
    constexpr T operator()(const T& a, const T& b) const {
        if constexpr (std::integral<T> && !std::is_same_v<T, bool>) {
            T sum{};
            if (__builtin_add_overflow(a, b, &sum)) {
                detail::refuseSum(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), std::is_signed_v<T>,
                                  8 * sizeof(T));
            }
            return sum;
        } else {
            return static_cast<T>(a + b);
        }
    }
};
struct Min {
    template <class T>
        requires requires(const T& value) { static_cast<bool>(value < value); }
    constexpr T operator()(const T& a, const T& b) const {
        return b < a ? b : a;
    }
};
struct Max {
    template <class T>
        requires requires(const T& value) { static_cast<bool>(value < value); }
    constexpr T operator()(const T& a, const T& b) const {
        return a < b ? b : a;
    }
};

/// A reducer: how a channel combines its value with a written one.
template <class R>
concept Reducer = requires { R::kind; };

}  // namespace reducers
}  // namespace detail

// Reducers and channel kinds, to be given to `channel()`: how a channel takes the values that tasks write to it. A
// channel with a reducer begins with the member's default initialiser. The reducer is called on the thread that drives
// the run, once for each written value, in the order of tasks, never in that of completion.

/// One value in a superstep (two are an InvalidUpdateError), which stays until it is replaced: the default.
inline constexpr detail::reducers::LastValue last_value{};
/// Several tasks may write in one superstep, and the last value counts. It is unset after a superstep that wrote none.
inline constexpr detail::reducers::AnyOf any_value{};
/// One value in a superstep, which only the next superstep sees.
inline constexpr detail::reducers::Ephemeral ephemeral{};
/// Like a last value, but never stored, so it is unset when the run ends. Of any type that can be copied, such as a
/// std::shared_ptr to a lock or a socket, or a std::function; events and JSON show null for one that cannot be stored.
inline constexpr detail::reducers::Untracked untracked{};
/// Adds the written elements at the end of a list.
inline constexpr detail::reducers::Append append{};
/// A list of what one superstep wrote; each superstep begins with an empty list.
inline constexpr detail::reducers::Topic topic{};
/// Puts the written entries into a map; later entries replace earlier ones. It is the reducer and, called, the write.
inline constexpr detail::reducers::Merge merge{};
/// Adds the written number. A sum of integers that does not fit into the channel's type is an InvalidUpdateError; a
/// double can hold it.
inline constexpr detail::reducers::Binary<detail::reducers::Sum> sum{"sum", {}};
/// Keeps the smallest value.
inline constexpr detail::reducers::Binary<detail::reducers::Min> min{"min", {}};
/// Keeps the greatest value.
inline constexpr detail::reducers::Binary<detail::reducers::Max> max{"max", {}};

/// A reducer of your own. `name` is stored; change it when the operation changes.
template <class F>
constexpr auto reduce(std::string_view name, F f) {
    return detail::reducers::Binary<F>(name, std::move(f));
}
/// Does the same with the name "custom", which a callable alone has too.
template <class F>
constexpr auto reduce(F f) {
    return reduce("custom", std::move(f));
}

namespace detail {

/// One row of a state's table.
template <class S, class T, class R, std::size_t N>
struct ChannelEntry {
    using State = S;
    using Type = T;
    using Reducer = R;
    static constexpr std::size_t former_size = N;
    std::string_view name;
    T S::*member;
    R reducer;
    std::array<std::string_view, N> former;
    TableNote note = {};
};

template <class R>
constexpr auto asReducer(R reducer) {
    if constexpr (reducers::Reducer<R>) {
        return reducer;
    } else {
        return reduce(std::move(reducer));
    }
}

/// Replaces a channel that was refused, so that one mistake is one error.
struct RefusedReducer : reducers::LastValue {};

template <class S, class T, class R, std::size_t N>
constexpr auto makeChannel(std::string_view name, T S::*member, R reducer, std::array<std::string_view, N> former) {
    constexpr bool is_untracked = !isStored(R::kind);
    static_assert(!std::is_const_v<T>, "stategraph: a channel's member must not be const; nodes get a const state");
    if constexpr (!std::is_const_v<T>) {
        if constexpr (!is_untracked) requireStorable<T>();
        R::template check<T>();
    }
    if constexpr (!std::is_const_v<T> && (Storable<T> || is_untracked) && R::template fits<T>) {
        return ChannelEntry<S, T, R, N>{name, member, std::move(reducer), former};
    } else {
        return ChannelEntry<S, T, RefusedReducer, N>{name, member, {}, former};
    }
}

/// The table of a state, which `channels()` returns.
template <class... Entries>
struct ChannelTable {
    Pack<Entries...> entries;
};

}  // namespace detail

/// A row of a state's table: the member `member` is the channel `name`. The name identifies the channel on disk: keep
/// it when you rename the member, or list the old one with `formerly`.
template <class S, class T>
constexpr auto channel(std::string_view name, T S::*member) {
    return detail::makeChannel(name, member, last_value, std::array<std::string_view, 0>{});
}
template <class S, class T, std::size_t N>
constexpr auto channel(std::string_view name, T S::*member, Formerly<N> former) {
    return detail::makeChannel(name, member, last_value, former.names);
}
template <class S, class T, class R>
constexpr auto channel(std::string_view name, T S::*member, R reducer) {
    return detail::makeChannel(name, member, detail::asReducer(std::move(reducer)), std::array<std::string_view, 0>{});
}
template <class S, class T, class R, std::size_t N>
    requires(!std::same_as<R, TableNote>)
constexpr auto channel(std::string_view name, T S::*member, R reducer, Formerly<N> former) {
    return detail::makeChannel(name, member, detail::asReducer(std::move(reducer)), former.names);
}

/// Does the same with notes after the reducer: `sg::defaulted`, `sg::describe("text")`.
template <class S, class T, class... More>
constexpr auto channel(std::string_view name, T S::*member, TableNote note, const More&... more) {
    return detail::withNote(channel(name, member, more...), note);
}
template <class S, class T, class R, class... More>
    requires(!std::same_as<R, TableNote>)
constexpr auto channel(std::string_view name, T S::*member, R reducer, TableNote note, const More&... more) {
    return detail::withNote(channel(name, member, std::move(reducer), more...), note);
}
template <class S, class T, class R, std::size_t N, class... More>
    requires(!std::same_as<R, TableNote>)
constexpr auto channel(std::string_view name, T S::*member, R reducer, Formerly<N> former, TableNote note,
                       const More&... more) {
    return detail::withNote(channel(name, member, std::move(reducer), former, more...), note);
}

/// Does the same with the member's own name as the channel's: `sg::channel<&State::foo>()`,
/// `sg::channel<&State::bar>(sg::append)`. To rename the member, list the old name with `formerly`, or give the channel
/// its name as text.
template <auto Member, class... Options>
constexpr auto channel(Options... options) {
    return channel(detail::memberName<Member>(), Member, std::move(options)...);
}

/// A state's table, to be returned by `static constexpr auto channels()`. Lists every member exactly once.
template <class... Entries>
constexpr auto channels(Entries... entries) {
    constexpr bool are_rows = (!std::is_member_pointer_v<Entries> && ...);
    static_assert(are_rows,
                  "stategraph: members without reducers are template arguments: sg::channels<&State::a, &State::b>(); "
                  "with reducers each is a row: sg::channel<&State::a>(sg::append)");
    if constexpr (are_rows) {
        return detail::ChannelTable<Entries...>{{{std::move(entries)}...}};
    } else {
        return detail::ChannelTable<>{};
    }
}
/// Does the same for a state whose channels have no reducers and the members' names: `sg::channels<&State::a,
/// &State::b>()`.
template <auto... Member>
    requires(sizeof...(Member) > 0)
constexpr auto channels() {
    return channels(channel<Member>()...);
}

/// A type that can be a graph's state (or a node's input): a struct with a table of its members.
template <class S>
concept ChannelState = requires { S::channels().entries; };

namespace detail {
template <class S>
const Schema& schemaOf();
void encodeState(const Schema& schema, Encoder& encoder, const void* state);
void decodeState(const Schema& schema, Decoder& decoder, void* state);
/// A write for each entry of a map that comes from outside, through the channel's reducer. Errors: WrongTypeError with
/// every fault.
void readUpdate(const Schema& schema, std::string_view cbor, Writes& writes);
}  // namespace detail

/// Stores a state as a payload in the form of a struct with a fields() table. It uses the run-time table of the state,
/// because another compile-time table would be a third of what a state costs the compiler.
template <detail::HasChannels T>
    requires(!detail::HasFields<T>)
struct Codec<T> {
    static void encode(Encoder& encoder, const T& value) {
        detail::encodeState(detail::schemaOf<T>(), encoder, &value);
    }
    static void decode(Decoder& decoder, T& value) { detail::decodeState(detail::schemaOf<T>(), decoder, &value); }
};

}  // namespace stategraph

#include <stategraph/detail/state_schema.hpp>
