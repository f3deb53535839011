#include "serve/origin.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stategraph::serve {

namespace {

struct Scheme {
    std::string_view name;
    std::string_view port;  // which browsers leave out
};
constexpr std::array<Scheme, 2> schemes{{{"http://", ":80"}, {"https://", ":443"}}};

std::string_view withoutEnd(std::string_view text, std::string_view end) {
    return text.ends_with(end) ? text.substr(0, text.size() - end.size()) : text;
}

bool isAllowed(std::string_view origin, const std::vector<std::string>& allowed) {
    return std::ranges::any_of(allowed,
                               [&](const std::string& each) { return each == "*" || beast::iequals(each, origin); });
}

/// The server may be behind a proxy that adds TLS, so it does not know the scheme of its own pages.
bool isOwn(std::string_view origin, std::string_view host) {
    return !host.empty() && std::ranges::any_of(schemes, [&](const Scheme& each) {
        return beast::iequals(origin.substr(0, each.name.size()), each.name) &&
               beast::iequals(withoutEnd(origin.substr(each.name.size()), each.port), withoutEnd(host, each.port));
    });
}

}  // namespace

bool isOrigin(std::string_view text) {
    if (text == "*" || text == "null") return true;
    const std::size_t slashes = text.find("://");
    if (slashes == 0 || slashes == std::string_view::npos || slashes + 3 == text.size()) return false;
    return std::ranges::all_of(text.substr(slashes + 3),
                               [](unsigned char c) { return c > ' ' && c < 0x7F && c != '/' && c != '*'; });
}

bool isForeign(const Request& request, const std::vector<std::string>& allowed) {
    if (request.count(http::field::origin) > 1) return true;
    const std::string_view site = request["Sec-Fetch-Site"];
    const bool is_near = site.empty() || site == "same-origin" || site == "none";
    const auto origin = request.find(http::field::origin);
    if (origin == request.end()) return !is_near;
    if (isAllowed(origin->value(), allowed)) return false;
    return !is_near || !isOwn(origin->value(), request[http::field::host]);
}

void allowOrigin(const Request& request, const std::vector<std::string>& allowed, http::fields& answer) {
    if (allowed.empty()) return;
    answer.set(http::field::vary, "Origin");
    const std::string_view origin = request[http::field::origin];
    if (origin.empty() || !isAllowed(origin, allowed)) return;
    answer.set(http::field::access_control_allow_origin, origin);
    answer.set(http::field::access_control_expose_headers,
               "content-location, location, x-pagination-total, x-pagination-next");
    if (request.method() != http::verb::options) return;
    // Clients have fields of their own, such as keys; the page's origin has been allowed.
    const std::string_view wanted = request[http::field::access_control_request_headers];
    answer.set(http::field::access_control_allow_headers,
               wanted.empty() ? "content-type, authorization, last-event-id" : wanted);
    answer.set(http::field::access_control_allow_methods, "GET, POST, PUT, PATCH, DELETE");
    if (request["Access-Control-Request-Private-Network"] == "true")
        answer.set("Access-Control-Allow-Private-Network", "true");
}

bool hasForeignBody(const Request& request) {
    const auto type = request.find(http::field::content_type);
    if (type == request.end()) {
        const std::string_view length = request[http::field::content_length];
        return request.count(http::field::transfer_encoding) > 0 || (!length.empty() && length != "0");
    }
    std::string_view name = type->value();
    name = name.substr(0, name.find(';'));
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    return request.count(http::field::content_type) > 1 || !beast::iequals(name, "application/json");
}

}  // namespace stategraph::serve
