#pragma once
#include <new>
#include <utility>

namespace stategraph::detail {

/// A T as a member of an aggregate that users write down in `co_await` expressions: `co_await app.asyncInvoke(input,
/// {.metadata = tags})`.
///
/// In such an expression g++ 12 constructs each member separately, copies its bytes into the aggregate and destroys
/// both. A Member knows its original address: the bytewise copy is read, never moved from, and does not destroy what it
/// holds. Otherwise it behaves as a T, and costs 8 bytes.
template <class T>
class Member : public T {
public:
    using T::T;
    Member() noexcept(noexcept(T())) : T() {}
    Member(const T& value) : T(value) {}
    Member(T&& value) noexcept : T(static_cast<T&&>(value)) {}
    Member(const Member& other) : T(static_cast<const T&>(other)) {}
    Member(Member&& other) : T(other.isOriginal() ? T(static_cast<T&&>(other)) : T(static_cast<const T&>(other))) {}
    Member& operator=(const Member& other) {
        T::operator=(static_cast<const T&>(other));
        return *this;
    }
    Member& operator=(Member&& other) {
        if (other.isOriginal()) {
            T::operator=(static_cast<T&&>(other));
        } else {
            T::operator=(static_cast<const T&>(other));
        }
        return *this;
    }
    ~Member() {
        if (!isOriginal()) ::new (static_cast<void*>(static_cast<T*>(this))) T();
    }

private:
    bool isOriginal() const noexcept { return made_at_ == this; }

    const void* made_at_ = this;
};

}  // namespace stategraph::detail
