#pragma once

namespace stategraph::detail {

/// Owns one object, as std::unique_ptr does; std::unique_ptr would cost the compiler about 10 ms for each T.
template <class T>
class Owned {
public:
    explicit Owned(T* object) noexcept : object_(object) {}
    Owned(Owned&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
    Owned& operator=(Owned&& other) noexcept {
        T* old = object_;
        object_ = other.object_;
        other.object_ = nullptr;
        if (old != object_) delete old;
        return *this;
    }
    ~Owned() { delete object_; }

    explicit operator bool() const noexcept { return object_ != nullptr; }
    T* operator->() const noexcept { return object_; }
    T& operator*() const noexcept { return *object_; }

private:
    T* object_;
};

}  // namespace stategraph::detail
