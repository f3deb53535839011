#pragma once
#include <stategraph/fields.hpp>

namespace stategraph::model {

/// Refers to a struct that has a Codec of its own, and is stored as a struct with the same table and no such Codec.
template <class T>
class ByTable {
public:
    explicit ByTable(T& value) noexcept : value_(value) {}
    static constexpr auto fields() { return T::fields(); }

    template <class Member, class Struct>
    friend constexpr auto& memberOf(const ByTable& object, Member Struct::*member) noexcept {
        return object.value_.*member;
    }
    template <class Member, class Struct>
    friend constexpr auto& memberOf(ByTable& object, Member Struct::*member) noexcept {
        return object.value_.*member;
    }

private:
    T& value_;
};

}  // namespace stategraph::model
