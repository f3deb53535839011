#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include <stategraph/shared.hpp>
#include <stategraph/shared_json.hpp>
#include <stategraph/shared_list.hpp>

// The nodes to which SharedJsons refer. A node with one owner may be changed by it; a node with several owners never
// changes.
namespace stategraph::detail {

namespace json = boost::json;

struct JsonNode {
    enum class Form : std::uint8_t { value, part, list };
    explicit JsonNode(Form f) noexcept : form(f) {}

    bool isOwned() const noexcept { return owners.load(std::memory_order_acquire) == 1; }

    mutable std::atomic<std::uint32_t> owners = 1;
    const Form form;
    KeptEncoding encoding;
};

/// A value with everything inside it.
struct JsonValueNode : JsonNode {
    explicit JsonValueNode(json::value&& v) noexcept : JsonNode(Form::value), value(std::move(v)) {}
    // Whether it is a list that was put together, then read as one value, and therefore stays one value.
    bool is_read_whole = false;
    json::value value;
};

/// A part of a value, which it owns together with others.
struct JsonPartNode : JsonNode {
    JsonPartNode(const JsonValueNode& of, const json::value& v) noexcept : JsonNode(Form::part), whole(&of), value(&v) {
        of.owners.fetch_add(1, std::memory_order_relaxed);
    }
    const JsonValueNode* whole;
    const json::value* value;
};

/// A list whose elements have owners of their own.
struct JsonListNode : JsonNode {
    explicit JsonListNode(SharedList<SharedJson> i) noexcept : JsonNode(Form::list), items(std::move(i)) {}
    SharedList<SharedJson> items;
    mutable std::atomic<JsonValueNode*> whole = nullptr;  // the list as one value, created when it is needed
    JsonListNode* next_ended = nullptr;                   // while lists without owners are deleted one after the other
};

/// The operations of reducers on the values of channels.
struct JsonNodes {
    /// Returns null if the value is in place, or is not a list of parts.
    static const JsonListNode* listOf(const SharedJson& json) noexcept {
        return json.node_ != nullptr && json.node_->form == JsonNode::Form::list
                   ? static_cast<const JsonListNode*>(json.node_)
                   : nullptr;
    }
    static const JsonNode* node(const SharedJson& json) noexcept { return json.node_; }
    /// Returns the value without other owners, so that it can be changed in place. Cost: a copy, if it has other owners
    /// or is a list of parts.
    static json::value& own(SharedJson& json);

    /// Adds the elements of each written list, or any other value as one element; values without other owners are
    /// moved. `list` must be a list. Errors: std::bad_alloc; then only the representation of the list may have changed.
    static void append(SharedJson& list, const std::vector<SharedJson*>& written);
    /// Returns how many elements a value adds, even after they were moved.
    static std::size_t count(const SharedJson& written) noexcept { return written.isArray() ? written.size() : 1; }
    /// Keeps the first elements. Errors: std::bad_alloc, if others own the list too.
    static void truncate(SharedJson& list, std::size_t size);
    static void encodeTail(const SharedJson& list, std::size_t from, Encoder& out);

private:
    friend class stategraph::SharedJson;
    static bool isInPlace(const json::value& value) noexcept;
    static SharedJson adopt(JsonNode* node) noexcept;
    static SharedJson part(const JsonNode& of, const json::value& value);
    static void release(JsonNode* node) noexcept;
    static void drop(JsonNode* node, JsonListNode*& ended) noexcept;
    static json::value toValue(const SharedJson& json, int level);
    static bool equal(const SharedJson& a, const SharedJson& b, int level);
    static bool canMove(const SharedJson& written) noexcept;
    static bool ownList(SharedJson& list, bool as_value);
    static void appendValues(json::array& items, const std::vector<SharedJson*>& written, std::size_t more);
    static void appendParts(SharedList<SharedJson>& items, const std::vector<SharedJson*>& written);
};

/// Encodes Boost's value inside `level` arrays and objects.
void encodeJson(Encoder& encoder, const json::value& value, int level);
/// Throws WrongTypeError for a value that is deeper than readers accept, before it uses up the stack.
void checkJsonLevel(int level);

}  // namespace stategraph::detail
