#include <stategraph/json.hpp>
#include <stategraph/partial.hpp>

namespace stategraph {

const char* toString(MemberProgress progress) noexcept {
    switch (progress) {
        case MemberProgress::absent:
            return "absent";
        case MemberProgress::growing:
            return "growing";
        case MemberProgress::complete:
            return "complete";
    }
    return "unknown";
}

namespace detail {

namespace json = boost::json;

const json::value* findMember(const PartialJson& partial, TableView table, std::size_t index) noexcept {
    const json::object* const object = partial.value().if_object();
    if (object == nullptr) return nullptr;
    // The current names come first.
    for (const TableName* name = table.names; name != table.names + table.names_size; ++name) {
        if (name->index != index) continue;
        if (const json::value* found = object->if_contains({name->name.data(), name->name.size()})) return found;
    }
    return nullptr;
}

std::string_view textOf(const json::value* value) noexcept {
    const json::string* const text = value != nullptr ? value->if_string() : nullptr;
    return text != nullptr ? std::string_view(text->data(), text->size()) : std::string_view();
}

Value toValue(const json::value& value) { return fromJson(value); }

}  // namespace detail
}  // namespace stategraph
