#pragma once
#include <boost/describe/members.hpp>
#include <boost/describe/modifiers.hpp>
#include <boost/mp11/list.hpp>

#include <stategraph/channel.hpp>

// Structs that Boost.Describe knows need no table:
//
//     struct Decision { bool approved = false; std::string by = {}; };
//     BOOST_DESCRIBE_STRUCT(Decision, (), (approved, by))
//
// The described names identify the members on disk. A fields() table takes precedence, as does a channels() table.
namespace stategraph {

namespace detail {

template <class T>
concept Described = boost::describe::has_describe_members<T>::value && !requires { T::fields().entries; };

template <class T>
    requires Described<T>
struct FieldsOf<T> {
    using Members = boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;
    static constexpr auto table() {
        return []<class... M>(boost::mp11::mp_list<M...>) {
            return stategraph::fields(field(M::name, M::pointer)...);
        }(boost::mp11::mp_rename<Members, boost::mp11::mp_list>());
    }
};

}  // namespace detail

/// The channels of a described state that has no reducers: `static constexpr auto channels() { return
/// sg::describedChannels<State>(); }`.
template <class S>
constexpr auto describedChannels() {
    using Members = boost::describe::describe_members<S, boost::describe::mod_public>;
    return []<class... M>(boost::mp11::mp_list<M...>) {
        return channels(channel(M::name, M::pointer)...);
    }(boost::mp11::mp_rename<Members, boost::mp11::mp_list>());
}

}  // namespace stategraph
