#include "serve/json_patch.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace stategraph::serve {

namespace json = boost::json;

namespace {

/// A step of a JSON Pointer (RFC 6901).
std::string escaped(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

class Patch {
public:
    void change(const std::string& path, const json::value& from, const json::value& to) {
        if (from.is_object() && to.is_object()) {
            changeObject(path, from.get_object(), to.get_object());
        } else if (from.is_array() && to.is_array()) {
            changeList(path, from.get_array(), to.get_array());
        } else if (from != to) {
            add("replace", path, to);
        }
    }
    json::array take() { return std::move(all_); }

private:
    void add(const char* op, const std::string& path, const json::value& value) {
        all_.push_back({{"op", op}, {"path", path}, {"value", value}});
    }
    void remove(const std::string& path) { all_.push_back({{"op", "remove"}, {"path", path}}); }

    void changeObject(const std::string& path, const json::object& from, const json::object& to) {
        for (const auto& [name, value] : from) {
            if (!to.contains(name)) remove(path + "/" + escaped(name));
        }
        for (const auto& [name, value] : to) {
            const std::string inner = path + "/" + escaped(name);
            if (const json::value* const before = from.if_contains(name)) {
                change(inner, *before, value);
            } else {
                add("add", inner, value);
            }
        }
    }
    void changeList(const std::string& path, const json::array& from, const json::array& to) {
        const std::size_t shorter = std::min(from.size(), to.size());
        std::size_t same = 0;
        while (same < shorter && from[same] == to[same]) ++same;
        std::size_t last = 0;
        while (last < shorter - same && from[from.size() - 1 - last] == to[to.size() - 1 - last]) ++last;
        const std::size_t changed = shorter - same - last;
        const auto at = [&](std::size_t index) { return path + "/" + std::to_string(index); };
        for (std::size_t i = same; i < same + changed; ++i) change(at(i), from[i], to[i]);
        for (std::size_t i = from.size() - last; i-- > same + changed;) remove(at(i));
        for (std::size_t i = same + changed; i < to.size() - last; ++i) add("add", at(i), to[i]);
    }

    json::array all_;
};

}  // namespace

json::array patchOf(const json::value& from, const json::value& to) {
    Patch patch;
    patch.change({}, from, to);
    return patch.take();
}

}  // namespace stategraph::serve
