#include "json/folds.hpp"

namespace stategraph::detail {

json::array& JsonList::require(const ChannelSpec& channel, JsonSlot& slot) {
    if (json::array* items = slot.value.if_array()) return *items;
    throw WrongTypeError("the reducer " + channel.reducer + " needs a list, and the channel holds " +
                         std::string(kindName(slot.value)) + ": overwrite() it with a list");
}

std::size_t JsonList::length(const JsonSlot& slot) noexcept {
    const json::array* items = slot.value.if_array();
    return items != nullptr ? items->size() : 0;
}

void JsonList::add(json::array& items, std::span<Op* const> ops) {
    items.reserve(items.size() + count(ops));  // nothing can fail after this
    for (Op* op : ops) {
        json::value& written = writtenBy(*op);
        if (json::array* list = written.if_array()) {
            for (json::value& item : *list) items.push_back(std::move(item));
        } else {
            items.push_back(std::move(written));
        }
    }
}

// A list that was moved from still has its length, and what was one value is none.
std::size_t JsonList::count(std::span<Op* const> ops) noexcept {
    std::size_t count = 0;
    for (Op* op : ops) {
        const json::array* list = writtenBy(*op).if_array();
        count += list != nullptr ? list->size() : 1;
    }
    return count;
}

json::object& JsonMap::require(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops) {
    const auto check = [&](const json::value& value, const char* what) {
        if (value.is_object()) return;
        throw WrongTypeError("the reducer " + channel.reducer + " needs objects, and " + what + " is " +
                             std::string(kindName(value)));
    };
    check(slot.value, "what the channel holds");
    for (Op* op : ops) check(writtenBy(*op), "what was written");
    return slot.value.get_object();
}

constinit const Behaviour json_replace = makeJsonBehaviour<ReplaceFold<JsonSlot, JsonAccess>>();
constinit const Behaviour json_append = makeJsonBehaviour<JsonAppend>();
constinit const Behaviour json_topic = makeJsonBehaviour<TopicFold<JsonSlot, JsonList>>();
constinit const Behaviour json_merge = makeJsonBehaviour<JsonMerge>();
constinit const Behaviour json_binary = makeJsonBehaviour<BinaryFold<JsonSlot, JsonFunction, JsonAccess>>();

}  // namespace stategraph::detail
