#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/socket.h>

namespace stategraph::langgraph {

/// An address of either kind, IPv4 as ::ffff:a.b.c.d.
using IpAddress = std::array<std::uint8_t, 16>;

/// Reads an address in its usual form; none for other texts.
std::optional<IpAddress> ipAddressOf(const std::string& text);
/// The address of a socket; none if it is of another kind.
std::optional<IpAddress> ipAddressOf(const sockaddr& address) noexcept;
/// Whether it is one of the public internet: not private, loopback, link-local, shared, multicast or reserved, and no
/// form in which IPv6 carries such an address of IPv4.
bool isPublic(const IpAddress& address) noexcept;

}  // namespace stategraph::langgraph
