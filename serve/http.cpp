#include "serve/http.hpp"

#include <algorithm>
#include <cctype>
#include <new>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>

namespace stategraph::serve {

// Names in requests may be any bytes; jsonText shows those that are not UTF-8.
std::string errorJson(std::string_view text) {
    return stategraph::detail::jsonText(boost::json::object{{"error", text}}) + "\n";
}

bool isHeader(std::string_view name, std::string_view value) noexcept {
    const auto is_token = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
    const auto is_text = [](unsigned char c) { return (c >= ' ' && c != 0x7F) || c == '\t'; };
    return !name.empty() && std::ranges::all_of(name, is_token) && std::ranges::all_of(value, is_text);
}

namespace {
http::status statusOf(Errc code) noexcept {
    switch (code) {
        case Errc::invalid_argument:
        case Errc::wrong_type:
        case Errc::empty_input:
            return http::status::bad_request;
        case Errc::concurrent_update:
        case Errc::thread_busy:
        case Errc::lease_lost:
        case Errc::thread_exists:
        case Errc::thread_changed:
            return http::status::conflict;
        case Errc::invalid_update:
        case Errc::saver_failed:
        case Errc::store_failed:
            return http::status::service_unavailable;
        default:
            return http::status::internal_server_error;
    }
}
}  // namespace

Failure failureOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        return {statusOf(known.code()), known.what()};
    } catch (const std::bad_alloc&) {
        return {http::status::service_unavailable, "there was no memory for it; try again later"};
    } catch (const std::exception& other) {
        return {http::status::internal_server_error, other.what()};
    } catch (...) {
        return {http::status::internal_server_error, "unknown error"};
    }
}

}  // namespace stategraph::serve
