#include "model/http/url.hpp"

#include <algorithm>
#include <cstdint>

#include <stategraph/error.hpp>

namespace stategraph::model::http {

namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw InvalidArgumentError("the base_url '" + std::string(text) + "' " + std::string(why));
}

bool isPrintable(char c) { return c > ' ' && c < '\x7f'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string portOf(std::string_view text, std::string_view digits) {
    std::uint32_t port = 0;
    for (const char c : digits) {
        if (!isDigit(c) || port > 65535) refuse(text, "has no number from 1 to 65535 as its port");
        port = port * 10 + static_cast<std::uint32_t>(c - '0');
    }
    if (port == 0 || port > 65535) refuse(text, "has no number from 1 to 65535 as its port");
    return std::to_string(port);
}

}  // namespace

std::string Url::hostHeader() const {
    const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
    return port == (is_tls ? "443" : "80") ? name : name + ":" + port;
}

std::string Url::text() const { return (is_tls ? "https://" : "http://") + hostHeader() + path; }

Url parseUrl(std::string_view text) {
    Url url;
    std::string_view rest = text;
    if (rest.starts_with("https://")) {
        url.is_tls = true;
    } else if (!rest.starts_with("http://")) {
        if (rest.find('@') != std::string_view::npos) rest = {};  // that part may contain a password
        refuse(rest, "must begin with http:// or https://");
    }
    rest.remove_prefix(url.is_tls ? 8 : 7);
    if (rest.find('@') != std::string_view::npos) {
        throw InvalidArgumentError(
            "a base_url must have no user and no password; give the key as api_key, or a header");
    }
    if (!std::all_of(rest.begin(), rest.end(), isPrintable)) refuse(text, "has a character that addresses cannot have");
    if (rest.find_first_of("?#") != std::string_view::npos) refuse(text, "must have no query and no fragment");
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view authority = rest.substr(0, slash);
    url.path = rest.substr(slash);
    while (url.path.ends_with('/')) url.path.pop_back();

    std::size_t name_end = authority.find(':');
    if (authority.starts_with('[')) {
        const std::size_t bracket = authority.find(']');
        if (bracket == std::string_view::npos) refuse(text, "has a '[' without its ']'");
        url.host = authority.substr(1, bracket - 1);
        name_end = bracket + 1 < authority.size() ? bracket + 1 : std::string_view::npos;
        if (name_end != std::string_view::npos && authority[name_end] != ':')
            refuse(text, "has something between ']' and its port");
    } else {
        url.host = authority.substr(0, name_end);
    }
    if (url.host.empty()) refuse(text, "has no host");
    url.port = url.is_tls ? "443" : "80";
    if (name_end != std::string_view::npos) url.port = portOf(text, authority.substr(name_end + 1));
    return url;
}

}  // namespace stategraph::model::http
