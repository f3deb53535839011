#pragma once
#include <concepts>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <stategraph/detail/opt_in.hpp>
#include <stategraph/detail/state_schema.hpp>
#include <stategraph/detail/writes.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

namespace detail {

/// One operation on a member, before it is put into an Update. `V` is the member's type, or an element's.
template <class S, class T, class V>
struct MemberWrite {
    MemberWrite(T S::*m, checkpoint::WriteKind k, V v, bool item = false) : member(m), kind(k), is_item(item), value(std::move(v)) {}
    T S::*member;
    checkpoint::WriteKind kind;
    bool is_item;
    V value;

    void putInto(Writes& writes) && {
        writes.add<V>(channelIndex(member), kind, std::move(value), is_item);
    }
};

template <class S, class T>
struct MemberClear {
    explicit MemberClear(T S::*m) : member(m) {}
    T S::*member;

    void putInto(Writes& writes) && { writes.addClear(channelIndex(member)); }
};

template <class W, class S>
inline constexpr bool is_write_on = false;
template <class S, class T, class V>
inline constexpr bool is_write_on<MemberWrite<S, T, V>, S> = true;
template <class S, class T>
inline constexpr bool is_write_on<MemberClear<S, T>, S> = true;

}  // namespace detail

/// Gives a channel without reducer its value.
template <class S, class T>
auto set(T S::*member, std::type_identity_t<T> value) {
    return detail::MemberWrite<S, T, T>(member, checkpoint::WriteKind::set, std::move(value));
}

/// Gives a channel's reducer a value: elements to append, a number to sum, entries to merge, an operand.
template <class S, class T>
auto add(T S::*member, std::type_identity_t<T> value) {
    return detail::MemberWrite<S, T, T>(member, checkpoint::WriteKind::add, std::move(value));
}

/// Gives the reducer of a list one element.
template <class S, reducers::List T, class V>
    requires(std::convertible_to<V, typename T::value_type> && !std::is_same_v<std::remove_cvref_t<V>, T>)
auto add(T S::*member, V&& item) {
    using Item = typename T::value_type;
    return detail::MemberWrite<S, T, Item>(member, checkpoint::WriteKind::add, Item(std::forward<V>(item)), true);
}

/// Replaces what a channel holds, past its reducer. It wins over the other writes of its superstep; two are an error.
template <class S, class T>
auto overwrite(T S::*member, std::type_identity_t<T> value) {
    return detail::MemberWrite<S, T, T>(member, checkpoint::WriteKind::overwrite, std::move(value));
}

/// Makes a channel what it was before any write: its initial value, or unset if it has no reducer. Counts as an overwrite.
template <class S, class T>
auto clear(T S::*member) {
    return detail::MemberClear<S, T>(member);
}

template <class S, class T>
auto reducers::Merge::operator()(T S::*member, std::type_identity_t<T> entries) const {
    static_assert(Map<T>, "stategraph: sg::merge writes to a map, such as std::map<std::string, int>");
    return detail::MemberWrite<S, T, T>(member, checkpoint::WriteKind::add, std::move(entries));
}

namespace detail {
/// What is no write: a name and a value in braces.
struct NamedWrite {
    template <class V>
    NamedWrite(const char*, V&&) {
        static_assert(never<V>, "stategraph: an update lists writes: {sg::set(&State::member, value)}, not names with values");
    }
};
}  // namespace detail

/// What a node returns: operations on channels, applied in order when the superstep ends. Not an aggregate, so that it is safe
/// to make one in a `co_await` expression on g++ 12.
///
///     return {sg::set(&State::foo, "a"), sg::add(&State::bar, "a")};
template <class S>
class Update : public detail::Writes {
public:
    Update() = default;

    template <class... W>
        requires(sizeof...(W) > 0 && (detail::is_write_on<std::remove_cvref_t<W>, S> && ...))
    Update(W&&... writes) {
        (std::remove_cvref_t<W>(std::forward<W>(writes)).putInto(*this), ...);
    }

    /// Not to be called, so that the compiler says the cure: the state itself does not say which channels are written.
    template <class T>
        requires std::is_same_v<T, S>
    Update(const T&) {
        static_assert(detail::never<T>, "stategraph: an update lists writes: {sg::set(&State::member, value)}, not a State");
    }
    /// The same of `{{"channel", value}}`.
    Update(std::initializer_list<detail::NamedWrite>) {}

    /// One write for each entry of an object that comes from outside, such as an edit sent as JSON: `Update<State>::of(sg::parseJson(text))`.
    /// Channels with a reducer get it as `add` does. Errors: WrongTypeError with every fault: names that are no channels, values that
    /// Value::asStrict refuses.
    static Update of(const Value& values) {
        Update update;
        detail::readUpdate(detail::schemaOf<S>(), values.bytes(), update);
        return update;
    }

    /// Adds one more operation.
    template <class W>
        requires detail::is_write_on<std::remove_cvref_t<W>, S>
    Update& with(W&& write) {
        std::remove_cvref_t<W>(std::forward<W>(write)).putInto(*this);
        return *this;
    }
};

}  // namespace stategraph
