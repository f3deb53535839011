#include "inspect/app/app_address.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <stategraph/error.hpp>

namespace stategraph::inspect {
namespace {

constexpr std::string_view scheme = "http://";
constexpr std::size_t key_size_max = 1024;

[[noreturn]] void refuse(std::string_view shown, const std::string& why) {
    throw InvalidArgumentError("the address '" + std::string(shown) + "' " + why +
                               "; a program's inspector prints its address: http://127.0.0.1:PORT/#k=KEY, in quotes "
                               "for a shell");
}

bool isKeyLetter(unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; }

}  // namespace

bool isAppAddress(std::string_view store) noexcept {
    return store.starts_with(scheme) || store.starts_with("https://");
}

AppAddress readAppAddress(std::string_view text) {
    const std::size_t mark = std::min(text.find('#'), text.size());
    const std::string_view shown = text.substr(0, mark);
    if (!shown.starts_with(scheme)) refuse(shown, "does not begin with http://");
    std::string_view place = shown.substr(scheme.size());
    place = place.substr(0, place.find('/'));
    const std::size_t colon = place.rfind(':');
    if (colon == std::string_view::npos) refuse(shown, "has no port");
    AppAddress address{.host = std::string(place.substr(0, colon)), .port = 0, .key = {}};
    if (address.host != "127.0.0.1" && address.host != "localhost")
        refuse(shown,
               "is not on this machine, and the key would cross the network unencrypted: forward the port, as in "
               "'ssh -L 41873:127.0.0.1:41873 HOST', and use 127.0.0.1");
    const std::string_view port = place.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc() || end != port.data() + port.size() || address.port == 0) refuse(shown, "has no port");
    std::string_view key = text.substr(std::min(mark + 1, text.size()));
    if (key.starts_with("k=")) key.remove_prefix(2);
    if (key.empty()) refuse(shown, "has no key after '#'");
    if (key.size() > key_size_max || !std::ranges::all_of(key, isKeyLetter))
        refuse(shown, "is followed by something that is no key: letters, digits, '-' and '_'");
    address.key = key;
    return address;
}

}  // namespace stategraph::inspect
