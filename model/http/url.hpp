#pragma once
#include <string>
#include <string_view>

// Addresses of servers.
namespace stategraph::model::http {

struct Url {
    bool is_tls = false;
    /// A name or an IP address. An IPv6 address is without its brackets.
    std::string host;
    std::string port;
    /// Empty, or with a slash at its beginning and none at its end.
    std::string path;

    /// Returns the value of the header Host, with the port unless it is the default of the scheme.
    std::string hostHeader() const;
    std::string text() const;
};

/// Reads `http://…` and `https://…`. Errors: InvalidArgumentError, which does not repeat the text before an `@`.
Url parseUrl(std::string_view text);

}  // namespace stategraph::model::http
