#include <array>
#include <cstddef>

#include <stategraph/error.hpp>

#include "workflow/state.hpp"

namespace stategraph {
namespace {

using workflow::Record;
using workflow::Word;

// A name as an encoded text item, which can be written without work.
template <std::size_t N>
struct Name {
    consteval Name(const char (&text)[N]) {
        static_assert(N <= 24, "a longer one has another head");
        item[0] = static_cast<char>(0x60 + N - 1);
        for (std::size_t i = 0; i + 1 < N; ++i) item[i + 1] = text[i];
    }
    std::array<char, N> item = {};

    constexpr std::string_view stored() const noexcept { return {item.data(), item.size()}; }
    constexpr std::string_view text() const noexcept { return stored().substr(1); }
};

// Visits the members of a record with the names under which they are stored, which must not change.
template <class R, class F>
void forEachMember(R& record, F visit) {
    visit(Name("status"), record.status);
    visit(Name("payload"), record.payload);
    visit(Name("output"), record.output);
    visit(Name("error"), record.error);
    visit(Name("permanent"), record.is_permanent);
    visit(Name("asked"), record.asked);
    visit(Name("labels"), record.labels);
    visit(Name("resumed"), record.resumed);
    visit(Name("pending"), record.pending);
    visit(Name("answers"), record.answers);
    visit(Name("child"), record.child);
    visit(Name("iteration"), record.iteration);
    visit(Name("attempts"), record.attempts);
    visit(Name("started"), record.started_ms);
    visit(Name("ended"), record.ended_ms);
    visit(Name("questions"), record.questions);
}

bool isSet(Word word) noexcept { return word != Word::none; }
bool isSet(const Value& value) noexcept { return !value.isNull(); }
bool isSet(bool value) noexcept { return value; }
bool isSet(std::int64_t value) noexcept { return value != 0; }
template <class T>
bool isSet(const T& container) noexcept {
    return !container.empty();
}

}  // namespace

void Codec<Record>::encode(Encoder& encoder, const Record& record) {
    std::size_t count = 0;
    forEachMember(record, [&](const auto&, const auto& member) { count += isSet(member) ? 1 : 0; });
    encoder.map(count);
    forEachMember(record, [&]<class T>(const auto& name, const T& member) {
        if (!isSet(member)) return;
        encoder.raw(name.stored());
        Codec<T>::encode(encoder, member);
    });
}

void Codec<Record>::decode(Decoder& decoder, Record& record) {
    record = {};
    std::size_t left = 0;
    const Decoder::Nesting nesting(decoder, left);
    for (left = decoder.map(); left > 0; --left) {
        const std::string_view found = decoder.text();
        bool is_known = false;
        forEachMember(record, [&]<class T>(const auto& name, T& member) {
            if (is_known || name.text() != found) return;
            is_known = true;
            Codec<T>::decode(decoder, member);
        });
        if (!is_known) (void)decoder.raw();  // a member of a later version
    }
}

void Codec<Word>::encode(Encoder& encoder, Word word) { encoder.text(toString(word)); }

void Codec<Word>::decode(Decoder& decoder, Word& word) {
    const std::string_view found = decoder.text();
    for (word = Word::none; word <= Word::canceled; word = static_cast<Word>(static_cast<int>(word) + 1)) {
        if (found == toString(word)) return;
    }
    word = Word::none;
    throw WrongTypeError("'" + std::string(found) + "' is not a status of a step or a run");
}

}  // namespace stategraph
