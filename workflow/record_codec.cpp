#include <array>
#include <cstddef>
#include <cstring>

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

// Returns the word as a text item.
std::string_view storedWord(Word word) noexcept {
    static constexpr auto running = Name("running");
    static constexpr auto waiting = Name("waiting");
    static constexpr auto suspended = Name("suspended");
    static constexpr auto success = Name("success");
    static constexpr auto failed = Name("failed");
    static constexpr auto bailed = Name("bailed");
    static constexpr auto paused = Name("paused");
    static constexpr auto canceled = Name("canceled");
    switch (word) {
        case Word::none:
            break;
        case Word::running:
            return running.stored();
        case Word::waiting:
            return waiting.stored();
        case Word::suspended:
            return suspended.stored();
        case Word::success:
            return success.stored();
        case Word::failed:
            return failed.stored();
        case Word::bailed:
            return bailed.stored();
        case Word::paused:
            return paused.stored();
        case Word::canceled:
            return canceled.stored();
    }
    return "\x60";
}

// The items of a record, most of which are short: they are collected, and cost one append.
class Items {
public:
    explicit Items(Encoder& encoder) noexcept : encoder_(encoder) {}

    void put(char item) {
        makeRoom(1);
        room_[size_++] = item;
    }
    void put(std::string_view items) {
        makeRoom(items.size());
        std::memcpy(room_.data() + size_, items.data(), items.size());
        size_ += items.size();
    }
    template <std::size_t N>
    void put(const Name<N>& name) {
        makeRoom(N);
        std::memcpy(room_.data() + size_, name.item.data(), N);
        size_ += N;
    }
    void add(Word word) { put(storedWord(word)); }
    void add(const Value& value) {
        const std::string_view bytes = value.bytes();
        if (bytes.size() <= short_max) return put(bytes);
        finish();
        encoder_.raw(bytes);
    }
    void add(bool value) { put(value ? '\xf5' : '\xf4'); }
    // Most numbers are small, or times in milliseconds.
    void add(std::int64_t value) {
        if (value >= 0 && value < 24) return put(static_cast<char>(value));
        const auto number = static_cast<std::uint64_t>(value);
        if (number >> 32U == 0 || value < 0) {
            finish();
            return encoder_.integer(value);
        }
        makeRoom(9);
        room_[size_] = '\x1b';
        for (std::size_t i = 0; i < 8; ++i) room_[size_ + 8 - i] = static_cast<char>(number >> (8 * i));
        size_ += 9;
    }
    template <class T>
    void add(const T& member) {
        finish();
        Codec<T>::encode(encoder_, member);
    }
    void finish() {
        encoder_.raw({room_.data(), size_});
        size_ = 0;
    }

private:
    static constexpr std::size_t short_max = 64;

    void makeRoom(std::size_t size) {
        if (size_ + size > room_.size()) finish();
    }

    Encoder& encoder_;
    std::size_t size_ = 0;
    std::array<char, 256> room_;  // not initialised
};

}  // namespace

void Codec<Record>::encode(Encoder& encoder, const Record& record) {
    std::size_t count = 0;
    forEachMember(record, [&](const auto&, const auto& member) { count += isSet(member) ? 1 : 0; });
    Items items(encoder);
    items.put(static_cast<char>(0xa0 + count));
    forEachMember(record, [&](const auto& name, const auto& member) {
        if (!isSet(member)) return;
        items.put(name);
        items.add(member);
    });
    items.finish();
}

void Codec<Record>::decode(Decoder& decoder, Record& record) {
    bool is_new = true;
    forEachMember(record, [&](const auto&, const auto& member) { is_new = is_new && !isSet(member); });
    if (!is_new) record = {};
    std::size_t left = 0;
    const Decoder::Nesting nesting(decoder, left);
    left = decoder.map();
    std::string_view found = left > 0 ? decoder.text() : std::string_view();
    const auto next = [&] {
        if (--left > 0) found = decoder.text();
    };
    while (left > 0) {
        const std::size_t before = left;
        // Members are stored in this order, so one round usually finds all of them.
        forEachMember(record, [&]<class T>(const auto& name, T& member) {
            if (left == 0 || name.text() != found) return;
            Codec<T>::decode(decoder, member);
            next();
        });
        if (left < before) continue;
        (void)decoder.raw();  // a member of a later version
        next();
    }
}

void Codec<Word>::encode(Encoder& encoder, Word word) { encoder.raw(storedWord(word)); }

void Codec<Word>::decode(Decoder& decoder, Word& word) {
    const std::string_view found = decoder.text();
    for (word = Word::none; word <= Word::canceled; word = static_cast<Word>(static_cast<int>(word) + 1)) {
        if (found == toString(word)) return;
    }
    word = Word::none;
    throw WrongTypeError("'" + std::string(found) + "' is not a status of a step or a run");
}

}  // namespace stategraph
