#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/value.hpp>

#include "serve/chat.hpp"
#include "serve/route.hpp"
#include "tests/fuzz/found.hpp"
#include "tests/fuzz_products/targets.hpp"

namespace fuzz {

inline int runRequest(std::string_view bytes) {
    namespace serve = stategraph::serve;
    const auto cut = bytes.find('\n');
    std::optional<serve::Route> route;
    if (accepts("routeOf", [&] { route = serve::routeOf(bytes.substr(0, cut)); })) {
        std::string path;
        for (const auto& segment : route->segments) path += "/" + serve::spelt(segment, true);
        if (path != route->path) found("a path is not its segments: " + route->path + " and " + path);
    }
    if (cut == std::string_view::npos) return 0;
    std::optional<stategraph::Value> body;
    if (accepts("parseJson", [&] { body = stategraph::parseJson(bytes.substr(cut + 1)); }))
        accepts("readChat", [&] { (void)serve::readChat(*body); });
    return 0;
}

}  // namespace fuzz
