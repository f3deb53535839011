#include "src/value/interrupts.hpp"

#include <string>

namespace stategraph::engine {
namespace {

void encodeFields(const Interrupt& interrupt, Encoder& out) {
    out.text("id");
    out.text(interrupt.id.toString());
    out.text("index");
    out.unsignedInteger(interrupt.index);
    if (!interrupt.key.empty()) {
        out.text("key");
        out.text(interrupt.key);
    }
    out.text("value");
    out.raw(interrupt.value.bytes());
}

}  // namespace

void encodeInterrupt(const Interrupt& interrupt, Encoder& out) {
    out.map(interrupt.key.empty() ? 3 : 4);
    encodeFields(interrupt, out);
}

void encodeInterrupt(const Interrupt& interrupt, bool is_answered, Encoder& out) {
    out.map(interrupt.key.empty() ? 4 : 5);
    out.text("answered");
    out.boolean(is_answered);
    encodeFields(interrupt, out);
}

void encodeQuestions(const std::vector<Interrupt>& interrupts, Encoder& out) {
    out.array(interrupts.size());
    for (const Interrupt& interrupt : interrupts) out.raw(interrupt.value.bytes());
}

Value questionsAsData(const std::vector<Interrupt>& interrupts) {
    std::string cbor;
    Encoder out(cbor);
    out.map(1);
    out.text("__interrupt__");
    encodeQuestions(interrupts, out);
    return Value::fromCbor(std::move(cbor));
}

}  // namespace stategraph::engine
