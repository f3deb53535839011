#include <stategraph/detail/json_reading.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>

#include "json/crowded_object.hpp"
#include "json/half_pairs.hpp"
#include "json/nearest_double.hpp"

namespace stategraph::detail {
namespace {

namespace json = boost::json;

/// Makes the value, as Boost's own handler does, but with the nearest doubles. The text must be in one piece, so that
/// the digits of a number are. With `all_members`, lists and objects are as readAllMembers() describes.
template <bool all_members>
class Values {
public:
    static constexpr std::size_t max_object_size = json::object::max_size();
    static constexpr std::size_t max_array_size = json::array::max_size();
    static constexpr std::size_t max_key_size = json::string::max_size();
    static constexpr std::size_t max_string_size = json::string::max_size();

    Values(json::storage_ptr memory, unsigned char* stack, std::size_t size) : stack_({}, stack, size) {
        stack_.reset(std::move(memory));
    }
    json::value take() { return stack_.release(); }
    std::size_t members() const noexcept { return members_; }
    /// Whether the text was left because it has an object that Boost must not build.
    bool isCrowded() const noexcept { return is_crowded_; }

    // NOLINTBEGIN(readability-identifier-naming): these are the names that the parser calls.
    bool on_document_begin(json::error_code& /*error*/) { return true; }
    bool on_document_end(json::error_code& /*error*/) { return true; }
    bool on_object_begin(json::error_code& /*error*/) {
        if constexpr (all_members) stack_.push_bool(true);
        return true;
    }
    bool on_object_end(std::size_t count, json::error_code& error) {
        members_ += count;
        if constexpr (all_members) {
            stack_.push_array(2 * count + 1);
            return true;
        }
        is_crowded_ = count > uncrowded_max;
        if (is_crowded_) {
            error = json::error::object_too_large;
            return false;
        }
        stack_.push_object(count);
        return true;
    }
    bool on_array_begin(json::error_code& /*error*/) {
        if constexpr (all_members) stack_.push_bool(false);
        return true;
    }
    bool on_array_end(std::size_t count, json::error_code& /*error*/) {
        stack_.push_array(count + (all_members ? 1 : 0));
        return true;
    }
    bool on_key_part(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
        stack_.push_chars(part);
        return true;
    }
    bool on_key(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
        if constexpr (all_members) {
            stack_.push_string(part);
        } else {
            stack_.push_key(part);
        }
        return true;
    }
    bool on_string_part(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
        stack_.push_chars(part);
        return true;
    }
    bool on_string(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
        stack_.push_string(part);
        return true;
    }
    bool on_number_part(json::string_view /*part*/, json::error_code& /*error*/) { return true; }
    bool on_int64(std::int64_t number, json::string_view /*text*/, json::error_code& /*error*/) {
        stack_.push_int64(number);
        return true;
    }
    bool on_uint64(std::uint64_t number, json::string_view /*text*/, json::error_code& /*error*/) {
        stack_.push_uint64(number);
        return true;
    }
    bool on_double(double /*near*/, json::string_view text, json::error_code& /*error*/) {
        stack_.push_double(nearestDouble({text.data(), text.size()}));
        return true;
    }
    bool on_bool(bool value, json::error_code& /*error*/) {
        stack_.push_bool(value);
        return true;
    }
    bool on_null(json::error_code& /*error*/) {
        stack_.push_null();
        return true;
    }
    bool on_comment_part(json::string_view /*part*/, json::error_code& /*error*/) { return true; }
    bool on_comment(json::string_view /*part*/, json::error_code& /*error*/) { return true; }
    // NOLINTEND(readability-identifier-naming)

private:
    json::value_stack stack_;
    std::size_t members_ = 0;
    bool is_crowded_ = false;
};

bool isFlood(const json::array& parts) {
    std::vector<std::string_view> names;
    for (std::size_t i = 1; i < parts.size(); i += 2) names.push_back(parts[i].get_string());
    return stategraph::detail::isFlood(names);
}

/// Makes objects of the arrays that readAllMembers() describes. Of equal members the value of the last one stays, in
/// the place of the first, as in objects that Boost makes. Sets the error if Boost must not make one.
json::value withObjects(json::value& parts, json::error_code& error) {
    json::array* const list = parts.if_array();
    if (list == nullptr || error) return std::move(parts);
    if (!list->front().get_bool()) {
        for (std::size_t i = 1; i < list->size(); ++i) (*list)[i - 1] = withObjects((*list)[i], error);
        list->pop_back();
        return std::move(parts);
    }
    if (isFlood(*list)) {
        error = json::error::object_too_large;
        return nullptr;
    }
    json::object object(list->storage());
    object.reserve(capacityFor(list->size() / 2));
    for (std::size_t i = 1; i < list->size(); i += 2)
        object.insert_or_assign((*list)[i].get_string(), withObjects((*list)[i + 1], error));
    return object;
}

template <bool all_members>
JsonRead readWhole(std::string_view text, std::size_t depth_max, const json::storage_ptr& memory) {
    std::array<unsigned char, 512> stack;
    json::parse_options options;
    options.max_depth = depth_max;
    JsonRead read{.value = json::value(memory)};  // which the value that is made can be moved into
    json::basic_parser<Values<all_members>> parser(options, memory, stack.data(), stack.size());
    read.at = parser.write_some(false, text.data(), text.size(), read.error);
    if (parser.handler().isCrowded()) {
        read = readWhole<true>(text, depth_max, memory);
        if (!read.error) read.value = withObjects(read.value, read.error);
        return read;
    }
    if (!read.error && read.at < text.size()) read.error = json::error::extra_data;
    if (!read.error) read.value = parser.handler().take();
    read.members = parser.handler().members();
    return read;
}

/// Boost has no option for halves of surrogate pairs, and several errors, so a text that has one is read again.
template <bool all_members>
JsonRead readPairs(std::string_view text, std::size_t depth_max, const json::storage_ptr& memory) {
    JsonRead read = readWhole<all_members>(text, depth_max, memory);
    if (!read.error) return read;
    const std::string whole = withoutHalfPairs(text);
    return whole == text ? std::move(read) : readWhole<all_members>(whole, depth_max, memory);
}

std::size_t membersOf(const json::value& value) {
    std::size_t sum = 0;
    if (const json::array* const list = value.if_array()) {
        for (const json::value& each : *list) sum += membersOf(each);
    } else if (const json::object* const object = value.if_object()) {
        sum = object->size();
        for (const auto& member : *object) sum += membersOf(member.value());
    }
    return sum;
}

}  // namespace

bool JsonRead::hasRepeatedMember() const { return members > 1 && members != membersOf(value); }

JsonRead readJson(std::string_view text, std::size_t depth_max, json::storage_ptr memory) {
    return readPairs<false>(text, depth_max, memory);
}

JsonRead readAllMembers(std::string_view text, std::size_t depth_max, json::storage_ptr memory) {
    return readPairs<true>(text, depth_max, memory);
}

}  // namespace stategraph::detail
