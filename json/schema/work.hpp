#pragma once
#include <cstddef>
#include <cstdint>

#include <boost/json/value.hpp>

namespace stategraph::schema {

/// Bytes of texts that are compared or counted for a unit of work.
constexpr std::size_t bytes_of_work = 64;

/// What one check may still do. A unit takes some ten nanoseconds. Not thread-safe.
class Work {
public:
    /// It grows with the value, because ordinary checks take time in proportion to it.
    explicit Work(const boost::json::value& value);

    /// Takes a part of what is left. Errors: InvalidArgumentError if that is not enough.
    void take(std::uint64_t amount) {
        if (amount > left_) refuse();
        left_ -= amount;
    }

private:
    [[noreturn]] static void refuse();

    std::uint64_t left_;
};

}  // namespace stategraph::schema
