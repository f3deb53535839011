#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace stategraph::inspect {

/// Where the inspector of a running program listens, and its key.
struct AppAddress {
    std::string host;
    std::uint16_t port = 0;
    std::string key;

    /// The address without the key, for errors.
    std::string shown() const { return "http://" + host + ":" + std::to_string(port) + "/"; }
};

/// Returns whether a store's name is the address of a program: it begins with http:// or https://.
bool isAppAddress(std::string_view store) noexcept;
/// Reads "http://127.0.0.1:41873/#k=KEY", the address that inspect::Server prints, or the same with "#KEY". The host is
/// this machine, because the key is sent as it is. Errors: InvalidArgumentError, whose text never has the key.
AppAddress readAppAddress(std::string_view text);

}  // namespace stategraph::inspect
