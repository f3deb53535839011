#include <algorithm>

#include "json/json_node.hpp"

// Implements lists to which reducers add. A list is one value, as Boost's functions read it, until a shared element is
// added to it or the list itself is shared. After that, its elements are shared one by one, and the list of them as a
// whole. If it is read as one value later, it becomes one again and stays so, because each conversion costs its length.
namespace stategraph::detail {

using Form = JsonNode::Form;

// Returns whether it has no other owner.
bool JsonNodes::canMove(const SharedJson& written) noexcept {
    const JsonNode* const node = written.node_;
    return node == nullptr || (node->form == Form::value && node->isOwned());
}

// Makes this the only owner of the list. Returns true if the list is one value, and false if it is a list of parts.
bool JsonNodes::ownList(SharedJson& list, bool as_value) {
    if (list.node_ == nullptr) {
        list.node_ = as_value ? static_cast<JsonNode*>(new JsonValueNode(std::move(list.value_)))
                              : static_cast<JsonNode*>(new JsonListNode({}));
        list.value_ = nullptr;
        return as_value;
    }
    if (list.node_->form == Form::list) {
        auto* const parts = static_cast<JsonListNode*>(list.node_);
        if (!parts->isOwned()) {
            release(std::exchange(list.node_, new JsonListNode(parts->items)));
            return false;
        }
        JsonValueNode* const whole = parts->whole.exchange(nullptr, std::memory_order_acquire);
        if (whole == nullptr) return false;
        whole->is_read_whole = true;
        release(std::exchange(list.node_, whole));
        return true;
    }
    if (list.node_->form == Form::value && list.node_->isOwned()) {
        list.node_->encoding.forget();
        if (as_value || static_cast<JsonValueNode*>(list.node_)->is_read_whole) return true;
    }
    const json::array& items = list.get().get_array();
    std::vector<SharedJson> parts;
    parts.reserve(items.size());
    for (const json::value& item : items) parts.push_back(part(*list.node_, item));
    release(std::exchange(list.node_, new JsonListNode(std::move(parts))));
    return false;
}

void JsonNodes::append(SharedJson& list, const std::vector<SharedJson*>& written) {
    const bool can_move = std::all_of(written.begin(), written.end(), [](const SharedJson* w) { return canMove(*w); });
    if (!ownList(list, can_move)) {
        appendParts(static_cast<JsonListNode*>(list.node_)->items, written);
        return;
    }
    std::size_t more = 0;
    for (const SharedJson* each : written) more += count(*each);
    appendValues(static_cast<JsonValueNode*>(list.node_)->value.get_array(), written, more);
}

void JsonNodes::appendValues(json::array& items, const std::vector<SharedJson*>& written, std::size_t more) {
    std::vector<json::value> copies;  // of parts that have other owners
    copies.reserve(written.size());
    std::vector<json::value*> values;
    values.reserve(written.size());
    // Each value is checked once, because another thread may drop the last other reference meanwhile.
    for (SharedJson* each : written) {
        if (!canMove(*each)) {
            values.push_back(&copies.emplace_back(each->toValue()));
        } else {
            values.push_back(each->node_ == nullptr ? &each->value_ : &static_cast<JsonValueNode*>(each->node_)->value);
        }
    }
    items.reserve(items.size() + more);  // no step after this can fail
    for (json::value* value : values) {
        if (json::array* list = value->if_array()) {
            for (json::value& item : *list) items.push_back(std::move(item));
        } else {
            items.push_back(std::move(*value));
        }
    }
}

void JsonNodes::appendParts(SharedList<SharedJson>& items, const std::vector<SharedJson*>& written) {
    std::vector<SharedJson> more;
    for (const SharedJson* each : written) {
        if (const JsonListNode* parts = listOf(*each)) {
            more.insert(more.end(), parts->items.begin(), parts->items.end());
        } else if (each->isArray()) {
            for (std::size_t i = 0; i < each->size(); ++i) more.push_back(each->at(i));
        } else {
            more.push_back(*each);
        }
    }
    items.append(std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void JsonNodes::truncate(SharedJson& list, std::size_t size) {
    if (ownList(list, true)) {
        json::array& items = static_cast<JsonValueNode*>(list.node_)->value.get_array();
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(size), items.end());
    } else {
        static_cast<JsonListNode*>(list.node_)->items.truncate(size);
    }
}

}  // namespace stategraph::detail
