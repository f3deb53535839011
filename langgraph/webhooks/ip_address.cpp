#include "langgraph/webhooks/ip_address.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace stategraph::langgraph {

namespace {

constexpr IpAddress mapped_v4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

/// The addresses that begin with these bits.
struct Network {
    IpAddress base;
    unsigned bits;

    bool has(const IpAddress& address, std::size_t from = 0) const noexcept {
        for (unsigned i = 0; i * 8 < bits; ++i) {
            const unsigned left = std::min(8U, bits - i * 8);
            if (((address[from + i] ^ base[i]) >> (8 - left)) != 0) return false;
        }
        return true;
    }
};

constexpr std::size_t v4_place = 12;
constexpr Network not_public_v4[] = {
    {{0}, 8},
    {{10}, 8},
    {{100, 64}, 10},
    {{127}, 8},
    {{169, 254}, 16},
    {{172, 16}, 12},
    {{192, 0, 0}, 24},
    {{192, 0, 2}, 24},
    {{192, 88, 99}, 24},
    {{192, 168}, 16},
    {{198, 18}, 15},
    {{198, 51, 100}, 24},
    {{203, 0, 113}, 24},
    {{224}, 3},
};
/// Of those that are in use at all: translations to IPv4 (Teredo, 6to4), documentation, and identifiers of hosts.
constexpr Network global_v6{{0x20}, 3};
constexpr Network not_public_v6[] = {
    {{0x20, 0x01, 0x00}, 23}, {{0x20, 0x01, 0x0D, 0xB8}, 32}, {{0x20, 0x02}, 16}, {{0x3F, 0xFF}, 20}};
constexpr Network v4_in_v6{mapped_v4, 96};

}  // namespace

std::optional<IpAddress> ipAddressOf(const std::string& text) {
    IpAddress address = mapped_v4;
    if (::inet_pton(AF_INET, text.c_str(), address.data() + v4_place) == 1) return address;
    if (::inet_pton(AF_INET6, text.c_str(), address.data()) == 1) return address;
    return {};
}

std::optional<IpAddress> ipAddressOf(const sockaddr& address) noexcept {
    IpAddress read = mapped_v4;
    if (address.sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, &address, sizeof v4);
        std::memcpy(read.data() + v4_place, &v4.sin_addr, 4);
        return read;
    }
    if (address.sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, &address, sizeof v6);
        std::memcpy(read.data(), &v6.sin6_addr, 16);
        return read;
    }
    return {};
}

bool isPublic(const IpAddress& address) noexcept {
    if (v4_in_v6.has(address))
        return std::ranges::none_of(not_public_v4, [&](const Network& each) { return each.has(address, v4_place); });
    return global_v6.has(address) &&
           std::ranges::none_of(not_public_v6, [&](const Network& each) { return each.has(address); });
}

}  // namespace stategraph::langgraph
