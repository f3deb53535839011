#include <stategraph/shared_json.hpp>

#include <ostream>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "json/json_node.hpp"

namespace stategraph {

namespace json = boost::json;
using detail::JsonListNode;
using detail::JsonNode;
using detail::JsonNodes;
using detail::JsonPartNode;
using detail::JsonValueNode;

namespace {

using Form = JsonNode::Form;

const json::value& valueOf(const JsonNode& node) noexcept {
    return node.form == Form::part ? *static_cast<const JsonPartNode&>(node).value
                                   : static_cast<const JsonValueNode&>(node).value;
}

const JsonListNode& listOf(const JsonNode& node) noexcept { return static_cast<const JsonListNode&>(node); }

json::value copied(const json::value& value) { return json::value(value, json::storage_ptr()); }

}  // namespace

namespace detail {

// Returns whether a value can be copied without an allocation.
bool JsonNodes::isInPlace(const json::value& value) noexcept {
    constexpr std::size_t text_max = 14;  // the size that Boost's strings hold in place
    switch (value.kind()) {
        case json::kind::string:
            return value.get_string().size() <= text_max;
        case json::kind::array:
            return value.get_array().empty();
        case json::kind::object:
            return value.get_object().empty();
        default:
            return true;
    }
}

SharedJson JsonNodes::adopt(JsonNode* node) noexcept {
    SharedJson json;
    json.node_ = node;
    return json;
}

SharedJson JsonNodes::part(const JsonNode& of, const json::value& value) {
    if (isInPlace(value)) return copied(value);
    const JsonValueNode& whole =
        of.form == Form::part ? *static_cast<const JsonPartNode&>(of).whole : static_cast<const JsonValueNode&>(of);
    return adopt(new JsonPartNode(whole, value));
}

// Not recursive, because lists may be nested more deeply than the stack allows.
void JsonNodes::release(JsonNode* node) noexcept {
    JsonListNode* ended = nullptr;
    drop(node, ended);
    while (ended != nullptr) {
        JsonListNode* const list = std::exchange(ended, ended->next_ended);
        SharedJson* const items = list->items.ownItems();
        for (std::size_t i = 0; items != nullptr && i < list->items.size(); ++i) {
            drop(std::exchange(items[i].node_, nullptr), ended);
        }
        delete list;
    }
}

// Releases one owner. A list without owners is added to `ended`; anything else is deleted immediately.
void JsonNodes::drop(JsonNode* node, JsonListNode*& ended) noexcept {
    if (node == nullptr || node->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    switch (node->form) {
        case Form::value:
            delete static_cast<JsonValueNode*>(node);
            break;
        case Form::part:
            drop(const_cast<JsonValueNode*>(static_cast<JsonPartNode*>(node)->whole), ended);
            delete static_cast<JsonPartNode*>(node);
            break;
        case Form::list: {
            auto* const list = static_cast<JsonListNode*>(node);
            drop(list->whole.load(std::memory_order_relaxed), ended);
            list->next_ended = std::exchange(ended, list);
            break;
        }
    }
}

json::value JsonNodes::toValue(const SharedJson& json, int level) {
    const JsonListNode* const list = listOf(json);
    if (list == nullptr) return copied(json.get());
    checkJsonLevel(level);
    json::array items;
    items.reserve(list->items.size());
    for (const SharedJson& item : list->items) items.push_back(toValue(item, level + 1));
    return items;
}

bool JsonNodes::equal(const SharedJson& a, const SharedJson& b, int level) {
    if (a.isSame(b)) return true;
    if (listOf(a) == nullptr && listOf(b) == nullptr) return a.get() == b.get();
    if (!a.isArray() || !b.isArray() || a.size() != b.size()) return false;
    checkJsonLevel(level);
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!equal(a.at(i), b.at(i), level + 1)) return false;
    }
    return true;
}

json::value& JsonNodes::own(SharedJson& json) {
    if (json.node_ == nullptr) {
        if (!json.value_.is_array() && !json.value_.is_object()) return json.value_;
        json.node_ = new JsonValueNode(std::move(json.value_));
    } else if (json.node_->form == Form::list && json.node_->isOwned()) {
        ownList(json, true);
    }
    if (json.node_->form != Form::value || !json.node_->isOwned()) {
        JsonNode* const own = new JsonValueNode(json.toValue());
        release(std::exchange(json.node_, own));
    }
    json.node_->encoding.forget();
    return static_cast<JsonValueNode*>(json.node_)->value;
}

}  // namespace detail

SharedJson::SharedJson(json::value value) : value_(detail::ownJson(std::move(value))) {
    if (!JsonNodes::isInPlace(value_)) node_ = new JsonValueNode(std::move(value_));
}

SharedJson SharedJson::list(std::vector<SharedJson> items) {
    if (items.empty()) return json::value(json::array());
    return JsonNodes::adopt(new JsonListNode(std::move(items)));
}

SharedJson::SharedJson(const SharedJson& other) noexcept : value_(other.value_), node_(other.node_) {
    if (node_ != nullptr) node_->owners.fetch_add(1, std::memory_order_relaxed);
}

void SharedJson::release() noexcept { JsonNodes::release(std::exchange(node_, nullptr)); }

void SharedJson::swap(SharedJson& other) noexcept {
    value_.swap(other.value_);  // both use one memory resource
    std::swap(node_, other.node_);
}

json::kind SharedJson::kind() const noexcept {
    if (node_ == nullptr) return value_.kind();
    return node_->form == Form::list ? json::kind::array : valueOf(*node_).kind();
}

std::size_t SharedJson::size() const noexcept {
    if (node_ == nullptr) return 0;
    if (node_->form == Form::list) return listOf(*node_).items.size();
    const json::value& value = valueOf(*node_);
    if (const json::array* items = value.if_array()) return items->size();
    if (const json::object* entries = value.if_object()) return entries->size();
    return 0;
}

SharedJson SharedJson::at(std::size_t index) const {
    if (!isArray()) throw InvalidArgumentError("the JSON value is not a list, so it has no element");
    if (index >= size()) {
        throw InvalidArgumentError("the JSON list has " + std::to_string(size()) + " elements, and none at " +
                                   std::to_string(index));
    }
    if (node_->form == Form::list) return listOf(*node_).items[index];
    return JsonNodes::part(*node_, valueOf(*node_).get_array()[index]);
}

SharedJson SharedJson::at(std::string_view key) const {
    if (!isObject())
        throw InvalidArgumentError("the JSON value is not an object, so it has no '" + std::string(key) + "'");
    const json::value* found = node_ != nullptr ? valueOf(*node_).get_object().if_contains(key) : nullptr;
    if (found == nullptr) throw InvalidArgumentError("the JSON object has no '" + std::string(key) + "'");
    return JsonNodes::part(*node_, *found);
}

const json::value& SharedJson::get() const {
    if (node_ == nullptr) return value_;
    if (node_->form != Form::list) return valueOf(*node_);
    const JsonListNode& list = listOf(*node_);
    JsonValueNode* whole = list.whole.load(std::memory_order_acquire);
    if (whole == nullptr) {
        auto* made = new JsonValueNode(toValue());
        if (list.whole.compare_exchange_strong(whole, made, std::memory_order_acq_rel, std::memory_order_acquire)) {
            whole = made;
        } else {
            delete made;  // another thread created it first
        }
    }
    return whole->value;
}

json::value SharedJson::toValue() const { return JsonNodes::toValue(*this, 1); }

bool SharedJson::equals(const SharedJson& other) const { return JsonNodes::equal(*this, other, 1); }

std::ostream& operator<<(std::ostream& out, const SharedJson& json) { return out << detail::jsonText(json.get()); }

namespace {

void encodeShared(Encoder& encoder, const SharedJson& value, int level) {
    const JsonNode* const node = JsonNodes::node(value);
    if (node == nullptr) return detail::encodeJson(encoder, value.get(), level);
    if (const JsonListNode* list = JsonNodes::listOf(value)) {
        detail::checkJsonLevel(level);
        encoder.array(list->items.size());
        for (const SharedJson& item : list->items) encodeShared(encoder, item, level + 1);
        return;
    }
    if (node->encoding.put(encoder)) return;
    const std::uint32_t shallow_before = encoder.shallowBytes();
    const std::size_t begin = encoder.out().size();
    detail::encodeJson(encoder, valueOf(*node), level);
    if (!node->isOwned()) node->encoding.keep(encoder, begin, shallow_before);
}

}  // namespace

void detail::JsonNodes::encodeTail(const SharedJson& list, std::size_t from, Encoder& out) {
    out.array(list.size() - from);
    if (const JsonListNode* parts = listOf(list)) {
        for (std::size_t i = from; i < parts->items.size(); ++i) encodeShared(out, parts->items[i], 1);
        return;
    }
    const json::array& items = list.get().get_array();
    for (std::size_t i = from; i < items.size(); ++i) encodeJson(out, items[i], 1);
}

void Codec<SharedJson>::encode(Encoder& encoder, const SharedJson& value) { encodeShared(encoder, value, 1); }

void Codec<SharedJson>::decode(Decoder& decoder, SharedJson& value) {
    json::value read;
    Codec<json::value>::decode(decoder, read);
    value = SharedJson(std::move(read));
}

}  // namespace stategraph
