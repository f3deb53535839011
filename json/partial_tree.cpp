#include "json/partial_tree.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::detail {
namespace {

namespace json = boost::json;

constexpr std::string_view proto = "__proto__";
constexpr std::string_view constructor = "constructor";
constexpr std::string_view prototype = "prototype";

// Counts the keys that PartialTree refuses inside the value of `key`.
std::size_t countRefused(json::string_view key, const json::value& value) {
    std::size_t count = 0;
    if (const json::array* array = value.if_array()) {
        for (const json::value& item : *array) count += countRefused({}, item);
    } else if (const json::object* object = value.if_object()) {
        if (key == constructor && object->contains(prototype)) ++count;
        for (const auto& entry : *object) {
            if (entry.key() == proto) ++count;
            count += countRefused(entry.key(), entry.value());
        }
    }
    return count;
}

void refuseIf(bool is_flood) {
    if (is_flood)
        throw InvalidArgumentError("the partial JSON text has an object with members whose names have one hash");
}

}  // namespace

void PartialTree::open(json::value value) {
    json::value& placed = place(std::move(value));
    if (placed.is_structured()) {
        const bool in_object = !containers_.empty() && containers_.back().value->is_object();
        containers_.push_back({&placed, in_object && placed.is_object() && key_ == constructor});
    } else {
        leaf_ = &placed;
    }
}

json::value& PartialTree::place(json::value&& value) {
    if (containers_.empty()) {
        has_root_ = true;
        return root_ = std::move(value);
    }
    json::value& container = *containers_.back().value;
    if (json::array* array = container.if_array()) return array->emplace_back(std::move(value));
    return placeInObject(container.get_object(), std::move(value));
}

// The names come from outside, one by one.
void PartialTree::watchNames(Container& container, const json::object& object) {
    container.watch = std::make_unique<FloodWatch>(object.capacity());
    for (const auto& member : object) refuseIf(container.watch->add(member.key()));
}

json::value& PartialTree::placeInObject(json::object& object, json::value&& value) {
    Container& container = containers_.back();
    const bool is_full = object.size() >= uncrowded_max && object.size() == object.capacity();
    if (is_full) object.reserve(capacityFor(2 * object.size()));
    if (object.size() >= flood_min && (is_full || !container.watch)) watchNames(container, object);
    const auto [entry, is_new] = object.emplace(key_, nullptr);
    if (is_new && container.watch) refuseIf(container.watch->add(key_));
    if (is_new) {
        if (key_ == proto || (container.is_constructor && key_ == prototype)) ++refused_keys_;
    } else if (refused_keys_ != 0) {
        // This is as much work as building the replaced value was.
        refused_keys_ -= countRefused(key_, entry->value());
    }
    return entry->value() = std::move(value);
}

bool PartialTree::isOpen(const json::value& part) const noexcept {
    const auto is_part = [&](const Container& container) { return container.value == &part; };
    return leaf_ == &part || std::any_of(containers_.begin(), containers_.end(), is_part);
}

}  // namespace stategraph::detail
