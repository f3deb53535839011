#pragma once
#include <concepts>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/detail/opt_in.hpp>
#include <stategraph/detail/state_schema.hpp>
#include <stategraph/detail/write_checks.hpp>
#include <stategraph/detail/writes.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

namespace detail {

/// One operation on a member, before it is put into an Update. `V` is the member's type, or an element's.
template <class S, class T, class V>
struct MemberWrite {
    MemberWrite(T S::*m, checkpoint::WriteKind k, V&& v, bool item = false)
        : member(m), kind(k), is_item(item), value(std::move(v)) {}
    T S::*member;
    checkpoint::WriteKind kind;
    bool is_item;
    V value;

    void putInto(Writes& writes) && { writes.add<V>(channelIndex(member), kind, std::move(value), is_item); }
};

template <class S, class T>
struct MemberClear {
    explicit MemberClear(T S::*m) : member(m) {}
    T S::*member;

    void putInto(Writes& writes) && { writes.addClear(channelIndex(member)); }
};

// The state that a write is for; void if it is not a write.
template <class W>
struct WriteOf {
    using State = void;
};
template <class S, class T, class V>
struct WriteOf<MemberWrite<S, T, V>> {
    using State = S;
};
template <class S, class T>
struct WriteOf<MemberClear<S, T>> {
    using State = S;
};
template <class W>
using StateOfWrite = typename WriteOf<std::remove_cvref_t<W>>::State;
template <class W, class S>
inline constexpr bool is_write_on = std::is_same_v<StateOfWrite<W>, S>;

/// Whether V is an element of a list T that is written by itself.
template <class V, class T>
concept ItemOf =
    reducers::List<T> && std::convertible_to<V, typename T::value_type> && !std::is_same_v<std::remove_cvref_t<V>, T>;

template <class T, class S>
auto setMember(T S::*member, T&& value) {
    return MemberWrite<S, T, T>(member, checkpoint::WriteKind::set, std::move(value));
}
template <class T, class S>
auto addToMember(T S::*member, T&& value) {
    return MemberWrite<S, T, T>(member, checkpoint::WriteKind::add, std::move(value));
}
template <class T, class S, class V>
auto addItem(T S::*member, V&& item) {
    using Item = typename T::value_type;
    if constexpr (std::is_same_v<V, Item>) {
        return MemberWrite<S, T, Item>(member, checkpoint::WriteKind::add, std::move(item), true);
    } else {
        return MemberWrite<S, T, Item>(member, checkpoint::WriteKind::add, Item(std::forward<V>(item)), true);
    }
}

/// Replaces a write that was refused, for the same reason.
struct RefusedWrite {};
/// Replaces a value that was refused, so that one mistake is one error.
template <class T>
T refusedValue() {
    static_assert(never<T>,
                  "stategraph: the value does not convert to the type of the channel, or of an element of its list");
    throw;
}

}  // namespace detail

/// Sets the value of a channel that has no reducer: `sg::set<&State::foo>("a")`. The compiler checks the channel.
template <auto Member>
auto set(detail::TypeOfMember<Member> value) {
    detail::checkSet<Member>();
    return detail::setMember(Member, std::move(value));
}
/// Does the same for a member that is chosen at run time: `sg::set(member, value)`. A channel with a reducer is an
/// InvalidUpdateError when the update is applied, or does not compile if every channel of its type has one.
template <class S, class T>
auto set(T S::*member, std::type_identity_t<T> value) {
    detail::checkSetOfType<S, T>();
    return detail::setMember(member, std::move(value));
}
/// Never called: a channel is named by its member, which the compiler checks.
template <class Channel, class V>
    requires(!std::is_member_pointer_v<Channel>)
auto set(const Channel&, V&&) {
    static_assert(detail::never<V>, "stategraph: a channel is named by its member: sg::set<&State::member>(value)");
    return detail::RefusedWrite();
}
/// Never called: they are for values of another type, and explain that.
template <auto Member>
auto set(...) {
    return detail::setMember(Member, detail::refusedValue<detail::TypeOfMember<Member>>());
}
template <class S, class T>
auto set(T S::*member, ...) {
    return detail::setMember(member, detail::refusedValue<T>());
}

/// Writes a value through a channel's reducer: elements to append, a number to sum, entries to merge, an operand. The
/// compiler checks the channel.
template <auto Member>
auto add(detail::TypeOfMember<Member> value) {
    detail::checkAdd<Member>();
    return detail::addToMember(Member, std::move(value));
}
/// Writes one element through the reducer of a list.
template <auto Member, class V>
    requires detail::ItemOf<V, detail::TypeOfMember<Member>>
auto add(V&& item) {
    detail::checkAdd<Member>();
    return detail::addItem(Member, std::forward<V>(item));
}
/// Does the same for a member that is chosen at run time, as `set`.
template <class S, class T>
auto add(T S::*member, std::type_identity_t<T> value) {
    detail::checkAddOfType<S, T>();
    return detail::addToMember(member, std::move(value));
}
template <class S, class T, class V>
    requires detail::ItemOf<V, T>
auto add(T S::*member, V&& item) {
    detail::checkAddOfType<S, T>();
    return detail::addItem(member, std::forward<V>(item));
}
/// Never called, as with `set`.
template <auto Member>
auto add(...) {
    return detail::addToMember(Member, detail::refusedValue<detail::TypeOfMember<Member>>());
}
template <class S, class T>
auto add(T S::*member, ...) {
    return detail::addToMember(member, detail::refusedValue<T>());
}

/// Replaces the value of any channel and ignores its reducer. It wins over the other writes of its superstep; two are
/// an error.
template <auto Member>
auto overwrite(detail::TypeOfMember<Member> value) {
    using T = detail::TypeOfMember<Member>;
    return detail::MemberWrite<detail::StateOfMember<Member>, T, T>(Member, checkpoint::WriteKind::overwrite,
                                                                    std::move(value));
}
template <class S, class T>
auto overwrite(T S::*member, std::type_identity_t<T> value) {
    return detail::MemberWrite<S, T, T>(member, checkpoint::WriteKind::overwrite, std::move(value));
}

/// Resets a channel to its state before any write: its initial value, or unset if it has no reducer. Counts as an
/// overwrite.
template <auto Member>
auto clear() {
    return detail::MemberClear<detail::StateOfMember<Member>, detail::TypeOfMember<Member>>(Member);
}
template <class S, class T>
auto clear(T S::*member) {
    return detail::MemberClear<S, T>(member);
}

template <class S, class T>
auto detail::reducers::Merge::operator()(T S::*member, std::type_identity_t<T> entries) const {
    static_assert(Map<T>, "stategraph: sg::merge writes to a map, such as std::map<std::string, int>");
    return detail::MemberWrite<S, T, T>(member, checkpoint::WriteKind::add, std::move(entries));
}

namespace detail {
/// Whether T is what people give in place of an update of S: a state, a text or nullptr. Other types have nothing to do
/// with updates, so that they can stand beside one in a variant.
template <class T, class S>
inline constexpr bool is_no_update =
    std::is_same_v<T, S> || std::is_same_v<T, RefusedWrite> || std::is_convertible_v<const T&, std::string_view>;

/// Catches a name and a value in braces, which are not a write.
struct NamedWrite {
    template <class V>
    NamedWrite(const char*, V&&) {
        static_assert(never<V>,
                      "stategraph: an update lists writes: {sg::set<&State::member>(value)}, not names with values");
    }
};
}  // namespace detail

/// What a node returns: operations on channels, applied in order when the superstep ends. Not an aggregate, so that one
/// can be created in a `co_await` expression on g++ 12.
///
///     return {sg::set<&State::foo>("a"), sg::add<&State::bar>("a")};
template <class S>
class Update : public detail::Writes {
public:
    Update() = default;

    template <class... W>
        requires(sizeof...(W) > 0 && (detail::is_write_on<W, S> && ...))
    Update(W&&... writes) {
        (put(std::forward<W>(writes)), ...);
    }

    /// Never called: it lets the compiler explain what is wrong.
    template <class... W>
        requires(sizeof...(W) > 0 && (!std::is_void_v<detail::StateOfWrite<W>> && ...) &&
                 !(detail::is_write_on<W, S> && ...))
    Update(W&&...) {
        static_assert((detail::is_write_on<W, S> && ...),
                      "stategraph: a write of this update is for a member of another state");
    }
    /// Never called: its static_assert explains that a state or a text does not say which channels are written.
    template <class T>
        requires detail::is_no_update<std::remove_cvref_t<T>, S>
    Update(T&&) {
        static_assert(std::is_same_v<T, detail::RefusedWrite>,
                      "stategraph: an update lists writes: {sg::set<&State::member>(value)}, not a State or a text");
    }
    /// Does the same for `{{"channel", value}}`.
    Update(std::initializer_list<detail::NamedWrite>) {}

    /// One write for each entry of an object that comes from outside, such as an edit sent as JSON:
    /// `Update<State>::of(sg::parseJson(text))`. Channels with a reducer get it as `add` does. Errors: WrongTypeError
    /// with every fault: names that are not channels, values that Value::asStrict refuses.
    static Update of(const Value& values) {
        Update update;
        detail::readUpdate(detail::schemaOf<S>(), values.bytes(), update);
        return update;
    }

    /// Adds one more operation.
    template <class W>
        requires detail::is_write_on<std::remove_cvref_t<W>, S>
    Update& with(W&& write) {
        put(std::forward<W>(write));
        return *this;
    }

private:
    template <class W>
    void put(W&& write) {
        if constexpr (std::is_lvalue_reference_v<W> || std::is_const_v<W>) {
            std::remove_cvref_t<W>(write).putInto(*this);
        } else {
            static_cast<W&&>(write).putInto(*this);
        }
    }
};

/// Makes an update where its type is not written: `return sg::update(sg::set<&State::foo>("a"),
/// sg::add<&State::bar>("a"));`.
template <class First, class... More>
    requires(!std::is_void_v<detail::StateOfWrite<First>>)
auto update(First&& first, More&&... more) {
    return Update<detail::StateOfWrite<First>>(std::forward<First>(first), std::forward<More>(more)...);
}

}  // namespace stategraph
