#include "json/half_pairs.hpp"

#include "src/value/bytes.hpp"

namespace stategraph::detail {
namespace {

constexpr std::size_t escape_size = 6;

/// Returns the number of an escape such as \u0041 at a place of the text, or -1.
int unitAt(std::string_view json, std::size_t at) {
    if (at + escape_size > json.size() || json[at] != '\\' || json[at + 1] != 'u') return -1;
    int unit = 0;
    for (const char digit : json.substr(at + 2, 4)) {
        const int value = hexDigit(digit);
        if (value < 0) return -1;
        unit = unit * 16 + value;
    }
    return unit;
}

bool isHigh(int unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool isLow(int unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

std::string withoutHalfPairs(std::string_view json) {
    std::string whole(json);
    for (std::size_t at = json.find('\\'); at < json.size(); at = json.find('\\', at)) {
        const int unit = unitAt(json, at);
        if (unit < 0) {
            at += 2;
        } else if (isHigh(unit) && isLow(unitAt(json, at + escape_size))) {
            at += 2 * escape_size;
        } else {
            if (isHigh(unit) || isLow(unit)) whole.replace(at, escape_size, "\\ufffd");
            at += escape_size;
        }
    }
    return whole;
}

}  // namespace stategraph::detail
