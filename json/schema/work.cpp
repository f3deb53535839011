#include "json/schema/work.hpp"

#include <stategraph/error.hpp>

namespace stategraph::schema {
namespace {

namespace json = boost::json;

constexpr std::uint64_t work_always = 2'000'000;
constexpr std::uint64_t work_of_value = 200;
constexpr std::uint64_t work_of_byte = 16;

std::uint64_t workFor(const json::value& value) {
    std::uint64_t work = work_of_value;
    if (const json::array* const list = value.if_array()) {
        for (const json::value& each : *list) work += workFor(each);
    } else if (const json::object* const object = value.if_object()) {
        for (const auto& member : *object) work += member.key().size() * work_of_byte + workFor(member.value());
    } else if (const json::string* const text = value.if_string()) {
        work += text->size() * work_of_byte;
    }
    return work;
}

}  // namespace

Work::Work(const json::value& value) : left_(work_always + workFor(value)) {}

void Work::refuse() {
    throw InvalidArgumentError(
        "the check by the schema takes too long for this value; simplify the schema's patterns and references, or "
        "shorten the value");
}

}  // namespace stategraph::schema
