#include "storage/postgres/postgres_hosts.hpp"

#include <algorithm>
#include <memory>
#include <string_view>

#include <libpq-fe.h>

namespace stategraph::checkpoint {
namespace {

struct FreeHostOptions {
    void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using HostOptions = std::unique_ptr<PQconninfoOption, FreeHostOptions>;

// Returns what the connection string says, or else the environment.
std::string optionOf(const HostOptions& given, const HostOptions& defaults, std::string_view keyword) {
    for (const HostOptions* options : {&given, &defaults}) {
        for (const PQconninfoOption* each = options->get(); each && each->keyword; ++each) {
            if (each->keyword == keyword && each->val && *each->val != '\0') return each->val;
        }
    }
    return {};
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    if (list.empty()) return parts;
    for (std::size_t begin = 0;;) {
        const std::size_t comma = list.find(',', begin);
        parts.push_back(list.substr(begin, comma - begin));
        if (comma == std::string::npos) return parts;
        begin = comma + 1;
    }
}

}  // namespace

PostgresHosts::PostgresHosts(const std::string& conninfo) : hosts_(1) {
    const HostOptions given(PQconninfoParse(conninfo.c_str(), nullptr));
    const HostOptions defaults(PQconndefaults());
    if (!given || !optionOf(given, {}, "service").empty()) return;
    const std::string attributes = optionOf(given, defaults, "target_session_attrs");
    will_any_do_ = attributes.empty() || attributes == "any";
    if (attributes == "prefer-standby") return;
    const std::vector<std::string> names = split(optionOf(given, defaults, "host"));
    const std::vector<std::string> addresses = split(optionOf(given, defaults, "hostaddr"));
    const std::vector<std::string> ports = split(optionOf(given, defaults, "port"));
    const std::size_t count = std::max(names.size(), addresses.size());
    // Lists of different lengths, and places that are empty (a default of libpq's), are left to libpq.
    const auto fits = [&](const std::vector<std::string>& list) {
        return list.empty() ||
               (list.size() == count && std::ranges::none_of(list, [](const auto& each) { return each.empty(); }));
    };
    if (count < 2 || !fits(names) || !fits(addresses) || (ports.size() > 1 && !fits(ports))) return;
    hosts_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (!names.empty()) hosts_[i].host = names[i];
        if (!addresses.empty()) hosts_[i].address = addresses[i];
        if (!ports.empty()) hosts_[i].port = ports[ports.size() > 1 ? i : 0];
    }
}

std::string PostgresHosts::nameOf(std::size_t place) const {
    const Host& host = hosts_[place];
    return (host.host.empty() ? host.address : host.host) + (host.port.empty() ? "" : ":" + host.port);
}

void PostgresHosts::noteFailed(std::size_t place) noexcept {
    first_.compare_exchange_strong(place, (place + 1) % count());
}

void PostgresHosts::noteLost(std::size_t place) noexcept {
    if (!will_any_do_) noteFailed(place);
}

}  // namespace stategraph::checkpoint
