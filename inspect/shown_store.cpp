#include "inspect/shown_store.hpp"

#include <algorithm>
#include <string_view>

#include "inspect/app/app_address.hpp"

namespace stategraph::inspect {
namespace {

constexpr std::string_view hidden = "***";

// Names of parameters that libpq accepts and whose values are secret end with this.
constexpr std::string_view secret_end = "password=";

// The last '@' counts, so that a password with an '@' or a '/' in it, which should have been written as %40 or %2F, is
// not shown in part.
void hideAuthority(std::string& store, std::size_t begin) {
    const std::size_t query = std::min(store.find_first_of("?#", begin), store.size());
    const std::size_t at = store.substr(0, query).rfind('@');
    if (at == std::string::npos || at < begin) return;
    const std::size_t colon = store.find(':', begin);
    if (colon < at) store.replace(colon + 1, at - colon - 1, hidden);
}

void hideParameters(std::string& store) {
    for (std::size_t at = store.find('?'); at < store.size();) {
        const std::size_t name = store.find(secret_end, at);
        if (name == std::string::npos) return;
        const std::size_t value = name + secret_end.size();
        const std::size_t end = std::min(store.find_first_of("&#", value), store.size());
        store.replace(value, end - value, hidden);
        at = value;
    }
}

}  // namespace

std::string shownStore(const std::string& store) {
    if (isAppAddress(store)) return readAppAddress(store).shown();
    if (!store.starts_with("postgresql://") && !store.starts_with("postgres://")) return store;
    std::string shown = store;
    hideAuthority(shown, store.find("://") + 3);
    hideParameters(shown);
    return shown;
}

}  // namespace stategraph::inspect
