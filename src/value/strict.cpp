#include "src/value/strict.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <utility>

#include <stategraph/detail/utf8.hpp>
#include <stategraph/value.hpp>

namespace stategraph {
namespace detail {
namespace {

constexpr std::size_t faults_max = 16;
constexpr std::size_t name_max = 80;

/// An error that knows its faults, so that each of them gets the whole path.
class FaultsError : public WrongTypeError {
public:
    FaultsError(std::string message, std::vector<std::string> faults, std::size_t more)
        : WrongTypeError(std::move(message)), faults_(std::move(faults)), more_(more) {}
    const std::vector<std::string>& faults() const noexcept { return faults_; }
    std::size_t more() const noexcept { return more_; }

private:
    std::vector<std::string> faults_;
    std::size_t more_;
};

}  // namespace

std::string inQuotes(std::string_view name) {
    std::string text = "'";
    if (name.size() <= name_max) return text.append(name).append("'");
    return text.append(beginningOf(name, name_max)).append("…'");
}

void Faults::add(std::string fault) {
    if (all_.size() < faults_max) {
        all_.push_back(std::move(fault));
    } else {
        ++more_;
    }
}

void Faults::addInside(const std::string& place, const WrongTypeError& error, StrictReading& reading) {
    const std::string trail = place + std::exchange(reading.trail, {});
    if (const auto* several = dynamic_cast<const FaultsError*>(&error)) {
        for (const std::string& fault : several->faults()) add(trail + fault);
        more_ += several->more();
    } else {
        add(trail + error.message());
    }
}

void Faults::raise() const {
    if (all_.empty()) return;
    std::string message;
    for (const std::string& fault : all_) message += (message.empty() ? "" : "; ") + fault;
    if (more_ > 0) message += "; and " + std::to_string(more_) + " more";
    throw FaultsError(std::move(message), all_, more_);
}

void readStrictly(std::string_view cbor, void* value, DecodeMember decode) {
    StrictReading reading{.exceptions = std::uncaught_exceptions(), .trail = {}, .tag = {}};
    Decoder decoder(cbor, reading);
    try {
        decode(decoder, value);
        if (!decoder.atEnd()) Decoder::fail("the end of the bytes after one value", decoder.peek());
    } catch (const WrongTypeError& error) {
        if (reading.trail.empty()) throw;
        Faults faults;
        faults.addInside("", error, reading);
        faults.raise();
    }
}

void skipRepeated(Decoder& decoder) {
    if (decoder.strict() != nullptr) throw WrongTypeError("it occurs twice");
    decoder.skip();
}

namespace {

// Goes over one item.
void passWithoutRepeated(Decoder& in) {
    const Decoder::Type type = in.peek();
    if (type != Decoder::Type::array && type != Decoder::Type::map) return in.skip();
    std::size_t left = 0;
    const Decoder::Nesting nesting(in, left);
    if (type == Decoder::Type::array) {
        for (left = in.array(); left > 0; --left) passWithoutRepeated(in);
        return;
    }
    std::vector<std::string_view> keys;
    for (left = in.map(); left > 0; --left) {
        keys.push_back(in.raw());
        passWithoutRepeated(in);
    }
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) throw WrongTypeError("member " + inQuotes(cborToJson(*twice)) + " occurs twice");
}

}  // namespace

void refuseRepeated(Decoder in) { passWithoutRepeated(in); }

void decodeKey(Decoder& decoder, void* key, DecodeMember decode) {
    StrictReading* const reading = decoder.strict();
    if (reading == nullptr) return decode(decoder, key);
    reading->in_key = true;
    try {
        decode(decoder, key);
    } catch (...) {
        reading->in_key = false;
        throw;
    }
    reading->in_key = false;
}

}  // namespace detail

// When an error leaves a list or a map, notes where in it the error was.
void Decoder::leave(std::string_view container, std::size_t left) const noexcept {
    if (std::uncaught_exceptions() <= strict_->exceptions) return;
    try {
        Decoder in(container);
        if (in.peek() == Type::array) {
            const std::size_t count = in.array();
            if (left > 0 && left <= count) strict_->trail.insert(0, "item " + std::to_string(count - left) + ": ");
            return;
        }
        if (in.peek() != Type::map) return;
        const std::size_t count = in.map();
        if (left == 0 || left > count) return;
        for (std::size_t i = 0; i < 2 * (count - left); ++i) in.skip();
        const bool is_text = in.peek() == Type::text;
        strict_->trail.insert(
            0, "entry " + detail::inQuotes(is_text ? std::string(in.text()) : cborToJson(in.raw())) + ": ");
    } catch (...) {  // the path stays shorter, because there is no memory
    }
}

// Reads a real number, or a map's key, that is an integer.
bool Decoder::tryIntegral(std::uint64_t& number, bool& is_negative) {
    if (strict_ == nullptr) return false;
    const Decoder before = *this;
    const Type type = peek();
    if (type == Type::text && strict_->in_key) {
        std::string_view digits = text();
        is_negative = !digits.empty() && digits.front() == '-';
        if (is_negative) digits.remove_prefix(1);
        const char* const end = digits.data() + digits.size();
        const auto read = std::from_chars(digits.data(), end, number);
        if (read.ec == std::errc() && read.ptr == end && !(is_negative && number == 0)) {
            if (is_negative) --number;  // CBOR has -1 - number
            return true;
        }
    } else if (type == Type::real) {
        const double found = real();
        constexpr double two_to_64 = 18446744073709551616.0;
        if (found == std::trunc(found) && std::fabs(found) < two_to_64) {
            is_negative = found < 0;
            number = static_cast<std::uint64_t>(std::fabs(found));
            if (is_negative) --number;
            return true;
        }
        *this = before;
        throw WrongTypeError("expected an integer, found " + cborToJson(raw()));
    }
    *this = before;
    return false;
}

}  // namespace stategraph
