#include "serve/client.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

#include <stategraph/error.hpp>

namespace stategraph::serve {

namespace {

namespace ip = asio::ip;

constexpr std::size_t name_bytes_max = 128;

/// All addresses in one form: IPv4 as ::ffff:a.b.c.d.
ip::address_v6 wide(const ip::address& address) {
    if (address.is_v4()) return ip::make_address_v6(ip::v4_mapped, address.to_v4());
    return ip::address_v6(address.to_v6().to_bytes());  // without a scope
}

/// The form that clients know: IPv4 as such, also where a socket for both kinds gives the other form.
ip::address plain(const ip::address& address) {
    const ip::address_v6 v6 = wide(address);
    if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6);
    return v6;
}

bool isWithin(const ip::address_v6& address, const ip::address_v6& base, unsigned bits) {
    const auto a = address.to_bytes(), b = base.to_bytes();
    for (unsigned i = 0; i < 16 && i * 8 < bits; ++i) {
        const unsigned left = std::min(8U, bits - i * 8);
        if (((a[i] ^ b[i]) >> (8 - left)) != 0) return false;
    }
    return true;
}

std::string networkOf(const ip::address& address, unsigned v4_bits, unsigned v6_bits) {
    if (address.is_v4()) {
        const auto number = address.to_v4().to_uint() & (v4_bits == 32 ? ~0U : ~(~0U >> v4_bits));
        return ip::address_v4(number).to_string();
    }
    auto bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + v6_bits / 8, bytes.end(), static_cast<unsigned char>(0));
    return ip::address_v6(bytes).to_string() + "/" + std::to_string(v6_bits);
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    text.remove_prefix(begin);
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// Splits at a separator that is not inside of quotes. Sets `ends_inside` if a quote begins and does not end.
std::vector<std::string_view> splitAt(std::string_view text, char separator, bool& ends_inside) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    bool is_quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_quoted && text[i] == '\\') {
            ++i;
        } else if (text[i] == '"') {
            is_quoted = !is_quoted;
        } else if (text[i] == separator && !is_quoted) {
            parts.push_back(trimmed(text.substr(begin, i - begin)));
            begin = i + 1;
        }
    }
    parts.push_back(trimmed(text.substr(begin)));
    ends_inside = ends_inside || is_quoted;
    return parts;
}

/// The addresses of X-Forwarded-For, which has no quotes: one that a client sends hides nothing of what its proxy adds.
std::vector<std::string> forwardedFor(const Request& request) {
    std::vector<std::string> all;
    const auto [first, last] = request.equal_range("X-Forwarded-For");
    for (auto each = first; each != last; ++each) {
        std::string_view left = each->value();
        for (std::size_t comma = left.find(','); comma != std::string_view::npos; comma = left.find(',')) {
            all.emplace_back(trimmed(left.substr(0, comma)));
            left.remove_prefix(comma + 1);
        }
        all.emplace_back(trimmed(left));
    }
    return all;
}

/// The address of an element of Forwarded; empty if it names nobody.
std::string addressOf(std::string_view element) {
    std::string address;
    bool ends_inside = false;
    for (const std::string_view pair : splitAt(element, ';', ends_inside)) {
        if (pair.size() < 4 || !beast::iequals(pair.substr(0, 4), "for=")) continue;
        address = trimmed(pair.substr(4));
        if (address.size() >= 2 && address.front() == '"' && address.back() == '"')
            address = address.substr(1, address.size() - 2);
    }
    return address;
}

/// The addresses of Forwarded: `for=192.0.2.1;proto=https, for="[2001:db8::1]:4711"`. Returns none if a quote does not
/// end, which would hide what a proxy has added.
std::optional<std::vector<std::string>> forwarded(const Request& request) {
    std::vector<std::string> all;
    bool ends_inside = false;
    const auto [first, last] = request.equal_range("Forwarded");
    for (auto each = first; each != last; ++each) {
        for (const std::string_view element : splitAt(each->value(), ',', ends_inside))
            all.push_back(addressOf(element));
    }
    if (ends_inside) return {};
    return all;
}

/// An address with or without a port: "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80".
std::optional<ip::address> addressIn(std::string_view text) {
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        text = end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
    } else if (std::ranges::count(text, ':') == 1) {
        text = text.substr(0, text.find(':'));
    }
    boost::system::error_code wrong;
    const ip::address address = ip::make_address(std::string(text), wrong);
    if (wrong) return {};
    return plain(address);
}

}  // namespace

Client clientNamed(const std::string& identity) {
    std::string key = "user " + identity.substr(0, name_bytes_max);
    if (identity.size() > name_bytes_max) key += "#" + std::to_string(std::hash<std::string>()(identity));
    return {key, key};
}

Client clientAt(std::string_view address) {
    const auto read = addressIn(address);
    if (!read) return {"address", "address"};  // the connection has ended already
    return {"address " + networkOf(*read, 32, 64), "network " + networkOf(*read, 16, 32)};
}

Proxies::Proxies(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
        const std::size_t slash = text.find('/');
        boost::system::error_code wrong;
        const ip::address base = ip::make_address(text.substr(0, slash), wrong);
        const unsigned most = base.is_v4() ? 32 : 128;
        unsigned bits = most;
        if (slash != std::string::npos) {
            const char* const end = text.data() + text.size();
            const auto [at, error] = std::from_chars(text.data() + slash + 1, end, bits);
            if (error != std::errc() || at != end) bits = most + 1;
        }
        if (wrong || bits > most) {
            throw InvalidArgumentError("ClientLimits::proxies has '" + text +
                                       "', which is neither an address nor a network such as 10.0.0.0/8");
        }
        networks_.push_back({wide(base), bits + (128 - most)});
    }
}

bool Proxies::has(const ip::address& address) const {
    const ip::address_v6 asked = wide(address);
    return std::ranges::any_of(networks_, [&](const Network& each) { return isWithin(asked, each.base, each.bits); });
}

ip::address Proxies::lastOutside(const ip::address& peer, const std::vector<std::string>& named) const {
    ip::address client = peer;
    // What is left of the first address that is not a proxy's, or of something else than an address, may be anybody's.
    for (auto each = named.rbegin(); each != named.rend() && has(client); ++each) {
        const auto address = addressIn(*each);
        if (!address) break;
        client = *address;
    }
    return client;
}

std::optional<std::string> Proxies::clientOf(const std::string& peer, const Request& request) const {
    const auto address = addressIn(peer);
    if (!address) return peer;
    if (!has(*address)) return address->to_string();
    const std::vector<std::string> simple = forwardedFor(request);
    const auto full = forwarded(request);
    if (!full) return {};
    const ip::address client = lastOutside(*address, simple.empty() ? *full : simple);
    if (!simple.empty() && !full->empty() && lastOutside(*address, *full) != client) return {};
    return client.to_string();
}

}  // namespace stategraph::serve
