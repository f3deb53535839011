#include "serve/http.hpp"

#include <algorithm>
#include <cctype>
#include <new>

#include <boost/json.hpp>

#include <stategraph/error.hpp>

namespace stategraph::serve {

namespace {

// Returns the size of the character of UTF-8 that a text begins with; 0: it begins with none.
std::size_t characterAt(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
    // The second byte rules out overlong forms, surrogates, and characters above U+10FFFF.
    const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < low || byte(1) > high) return 0;
    for (std::size_t i = 2; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return 0;
    }
    return size;
}

// Names in requests may be any bytes, and JSON is UTF-8.
std::string asUtf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t size = characterAt(text);
        out += size > 0 ? text.substr(0, size) : std::string_view("\xEF\xBF\xBD");
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return out;
}

}  // namespace

std::string errorJson(std::string_view text) {
    return boost::json::serialize(boost::json::object{{"error", asUtf8(text)}}) + "\n";
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
