#include <stategraph/value.hpp>

#include <ostream>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph {
namespace {

// States and results of tasks are Values too: maps around values that may have the greatest allowed depth.
constexpr int levels_around = 16;

}  // namespace

Value Value::fromCbor(std::string cbor) {
    Decoder decoder(cbor);
    decoder.skip();
    requireEnd(decoder);
    if (detail::isTooDeep(cbor, levels_around)) failDepth();
    Value value;
    value.bytes_ = std::move(cbor);
    return value;
}

void Value::take(std::string_view item) {
    if (detail::isTooDeep(item, levels_around)) failDepth();
    bytes_ = item;
}

void Value::requireEnd(const Decoder& decoder) {
    if (!decoder.atEnd()) Decoder::fail("the end of the bytes after one value", decoder.peek());
}

void Value::failDepth() { throw WrongTypeError("the value is " + detail::tooDeepText()); }

std::ostream& operator<<(std::ostream& out, const Value& value) {
    try {
        return out << value.toJson();
    } catch (const WrongTypeError& error) {
        return out << "<not JSON: " << error.message() << '>';
    }
}

}  // namespace stategraph
