#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>

#include "serve/http.hpp"

namespace stategraph::serve {

/// Whose limits a request counts for.
struct Client {
    /// Different for different clients.
    std::string key;
    /// The same for many clients that are near each other: the network of an address.
    std::string neighbourhood;
};
/// The client of an identity's name, and that of an address: of IPv6 its first 64 bits, which one customer has.
Client clientNamed(const std::string& identity);
Client clientAt(std::string_view address);

/// The proxies that a server knows.
class Proxies {
public:
    /// Errors: InvalidArgumentError for a text that is neither an address nor a network such as "10.0.0.0/8".
    explicit Proxies(const std::vector<std::string>& texts);

    bool has(const asio::ip::address& address) const;
    /// Returns the address of the client of a request that came from `peer`: if that is a proxy, the last address of
    /// X-Forwarded-For or Forwarded that is not a proxy's. None: both fields are there, and name different clients, so
    /// that one of them is the client's own.
    std::optional<std::string> clientOf(const std::string& peer, const Request& request) const;

private:
    struct Network {
        asio::ip::address_v6 base;
        unsigned bits = 128;
    };
    asio::ip::address lastOutside(const asio::ip::address& peer, const std::vector<std::string>& named) const;

    std::vector<Network> networks_;
};

}  // namespace stategraph::serve
