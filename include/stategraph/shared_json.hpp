#pragma once
/// JSON that is shared instead of copied, as in the channels of a JsonState. json.hpp includes it.
#include <cstddef>
#include <iosfwd>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/codec.hpp>

namespace stategraph {
namespace detail {
struct JsonNode;
struct JsonNodes;
}  // namespace detail

/// An immutable JSON value with shared ownership: copying one copies a pointer, and so does taking a part out of it.
/// Numbers, truth values, nulls and texts of at most 14 bytes are held in place, without an allocation.
///
///     const sg::SharedJson messages = state.shared("messages");
///     return {sg::write("last", messages.back()), sg::write("all", messages)};   // nothing is copied
///
/// A part keeps the whole alive that it is a part of. The encoding of a value that has several owners is kept with it
/// after its first encoding, if it has 64 bytes to 64 KiB.
///
/// Threads: several threads may read, copy and encode SharedJsons of one value at the same time. One SharedJson object
/// is as safe as an int: it must not be changed while another thread uses it.
class SharedJson {
public:
    /// Holds null.
    SharedJson() noexcept = default;
    /// Takes ownership of the value. Errors: std::bad_alloc. Cost: one allocation; a copy if the value has its own
    /// memory resource.
    SharedJson(boost::json::value value);
    /// A list of values that keep their owners. Errors: std::bad_alloc. Lists may be nested to any depth; one that is
    /// nested more deeply than a state may be (512 levels) throws WrongTypeError when it is stored, read as one value
    /// or compared.
    static SharedJson list(std::vector<SharedJson> items);

    SharedJson(const SharedJson& other) noexcept;
    SharedJson(SharedJson&& other) noexcept
        : value_(std::move(other.value_)), node_(std::exchange(other.node_, nullptr)) {}
    SharedJson& operator=(const SharedJson& other) noexcept {
        SharedJson(other).swap(*this);
        return *this;
    }
    SharedJson& operator=(SharedJson&& other) noexcept {
        SharedJson(std::move(other)).swap(*this);
        return *this;
    }
    ~SharedJson() {
        if (node_ != nullptr) release();
    }

    boost::json::kind kind() const noexcept;
    bool isNull() const noexcept { return kind() == boost::json::kind::null; }
    bool isArray() const noexcept { return kind() == boost::json::kind::array; }
    bool isObject() const noexcept { return kind() == boost::json::kind::object; }
    /// The number of elements or entries; 0 for any other value.
    std::size_t size() const noexcept;

    /// Returns an element of a list or a member of an object. Errors: InvalidArgumentError if there is none. Cost: an
    /// allocation for a part that has no owner yet.
    SharedJson at(std::size_t index) const;
    SharedJson at(std::string_view key) const;
    SharedJson front() const { return at(std::size_t{0}); }
    SharedJson back() const { return at(size() - 1); }

    /// The value for functions that take Boost's; valid as long as an owner exists. Cost: none, except for a list made
    /// of shared parts (by `list`, or by a channel to which SharedJsons were written): it is copied once, and the copy
    /// is kept with it.
    const boost::json::value& get() const;
    /// A copy, which the caller may change.
    boost::json::value toValue() const;

    /// Whether both own the same object; may be false for equal values.
    bool isSame(const SharedJson& other) const noexcept { return node_ != nullptr && node_ == other.node_; }
    friend bool operator==(const SharedJson& a, const SharedJson& b) { return a.equals(b); }
    /// Prints JSON text.
    friend std::ostream& operator<<(std::ostream& out, const SharedJson& json);

    void swap(SharedJson& other) noexcept;
    friend void swap(SharedJson& a, SharedJson& b) noexcept { a.swap(b); }

private:
    friend struct detail::JsonNodes;
    bool equals(const SharedJson& other) const;
    void release() noexcept;

    boost::json::value value_;  // a value that needs no allocation; otherwise null
    detail::JsonNode* node_ = nullptr;
};

/// Stored as the value that it holds.
template <>
struct Codec<SharedJson> {
    static constexpr bool is_any_shape = true;
    static constexpr std::string_view json_schema = R"({})";
    static void encode(Encoder& encoder, const SharedJson& value);
    static void decode(Decoder& decoder, SharedJson& value);
};

}  // namespace stategraph
