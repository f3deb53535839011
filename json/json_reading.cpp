#include <stategraph/detail/json_reading.hpp>

#include <array>
#include <cstdint>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>

#include "json/nearest_double.hpp"

namespace stategraph::detail {
namespace {

namespace json = boost::json;

/// Makes the value, as Boost's own handler does, but with the nearest doubles. The text must be in one piece, so that
/// the digits of a number are.
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

    // NOLINTBEGIN(readability-identifier-naming): these are the names that the parser calls.
    bool on_document_begin(json::error_code& /*error*/) { return true; }
    bool on_document_end(json::error_code& /*error*/) { return true; }
    bool on_object_begin(json::error_code& /*error*/) { return true; }
    bool on_object_end(std::size_t count, json::error_code& /*error*/) {
        stack_.push_object(count);
        return true;
    }
    bool on_array_begin(json::error_code& /*error*/) { return true; }
    bool on_array_end(std::size_t count, json::error_code& /*error*/) {
        stack_.push_array(count);
        return true;
    }
    bool on_key_part(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
        stack_.push_chars(part);
        return true;
    }
    bool on_key(json::string_view part, std::size_t /*size*/, json::error_code& /*error*/) {
        stack_.push_key(part);
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
};

}  // namespace

JsonRead readJson(std::string_view text, std::size_t depth_max, json::storage_ptr memory) {
    std::array<unsigned char, 512> stack;
    json::parse_options options;
    options.max_depth = depth_max;
    JsonRead read{.value = json::value(memory)};  // which the value that is made can be moved into
    json::basic_parser<Values> parser(options, std::move(memory), stack.data(), stack.size());
    read.at = parser.write_some(false, text.data(), text.size(), read.error);
    if (!read.error && read.at < text.size()) read.error = json::error::extra_data;
    if (!read.error) read.value = parser.handler().take();
    return read;
}

}  // namespace stategraph::detail
