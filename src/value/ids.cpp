#include <stategraph/ids.hpp>

#include <array>
#include <cstring>
#include <ostream>

#include <stategraph/detail/task_digits.hpp>
#include <stategraph/error.hpp>

#include "src/value/bytes.hpp"
#include "src/value/times.hpp"

#if defined(STATEGRAPH_GDB_PRINTERS) && defined(__ELF__)
// What gdb loads with a program or a shared library that contains this file, as every one does. The first byte says
// that a Python script follows, after its name. The section is not loaded into memory, and `strip` removes it.
__asm__(
    ".pushsection .debug_gdb_scripts, \"MS\",%progbits,1\n"
    ".byte 4\n"
    ".ascii \"gdb.inlined-script.stategraph\\n\"\n"
    ".incbin \"" STATEGRAPH_GDB_PRINTERS
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
#endif

namespace stategraph {
namespace {

constexpr std::string_view uuid_shape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::string_view task_shape = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

// The two digits of each byte.
constexpr std::array<char, 512> pairs = [] {
    std::array<char, 512> all{};
    for (std::size_t byte = 0; byte < 256; ++byte) {
        all[2 * byte] = detail::hex_digits[byte >> 4U];
        all[2 * byte + 1] = detail::hex_digits[byte & 15U];
    }
    return all;
}();

struct Halves {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
};

bool parse(std::string_view shape, std::string_view text, Halves& out) noexcept {
    if (text.size() != shape.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (shape[i] == '-') {
            if (text[i] != '-') return false;
            continue;
        }
        const int digit = detail::hexDigit(text[i]);
        if (digit < 0) return false;
        out.high = out.high << 4U | out.low >> 60U;
        out.low = out.low << 4U | static_cast<std::uint64_t>(digit);
    }
    return true;
}

std::string print(std::string_view shape, Halves value) {
    std::string out(shape);
    char* at = out.data() + out.size();
    for (std::uint64_t half : {value.low, value.high}) {
        for (int left = 8; left > 0; --left, half >>= 8U) {  // no '-' is allowed between the two digits of a byte
            if (at[-1] == '-') --at;
            at -= 2;
            std::memcpy(at, pairs.data() + 2 * (half & 255U), 2);
        }
    }
    return out;
}

[[noreturn]] void refuseText(std::string_view what, std::string_view text, std::string_view cure) {
    // A long text is a mistake of the caller, and its beginning is enough to find it.
    const bool is_long = text.size() > 60;
    throw InvalidArgumentError("'" + std::string(text.substr(0, 60)) + (is_long ? "…" : "") + "' is not " +
                               std::string(what) + "; " + std::string(cure));
}

}  // namespace

void ThreadId::refuse(std::size_t size) {
    throw InvalidArgumentError("a thread id of " + std::to_string(size) + " bytes is too long; use at most " +
                               std::to_string(size_max) + ", for example a hash of it");
}

CheckpointId::CheckpointId(std::string_view text) {
    Halves halves;
    if (!parse(uuid_shape, text, halves)) {
        refuseText("a checkpoint id", text,
                   std::string("give a UUID as CheckpointId::toString() writes it, like ") +
                       print(uuid_shape, {0x0190163d8694739bU, 0xaea5966c26f8ad91U}));
    }
    high_ = halves.high;
    low_ = halves.low;
}

std::chrono::system_clock::time_point CheckpointId::time() const noexcept {
    return times::ofUnixMs(times::unixMs(*this));
}
std::string CheckpointId::toString() const { return print(uuid_shape, {high_, low_}); }

void CheckpointId::toBytes(char* out) const noexcept {
    detail::storeBigEndian(high_, out);
    detail::storeBigEndian(low_, out + 8);
}

CheckpointId CheckpointId::fromBytes(const char* bytes) noexcept {
    return {detail::loadBigEndian({bytes, 8}), detail::loadBigEndian({bytes + 8, 8})};
}

TaskId::TaskId(std::string_view text) {
    Halves halves;
    if (!parse(task_shape, text, halves)) {
        refuseText("a task or interrupt id", text, "give the 32 hexadecimal digits that TaskId::toString() writes");
    }
    high_ = halves.high;
    low_ = halves.low;
}

std::string TaskId::toString() const {
    std::array<char, detail::task_digits> text;
    detail::writeDigits(*this, text.data());
    return {text.data(), text.size()};
}

// `print` is not used, because agents format several of these in each round.
void detail::writeDigits(TaskId id, char* out) noexcept {
    for (const std::uint64_t half : {id.high(), id.low()}) {
        for (int shift = 56; shift >= 0; shift -= 8, out += 2)
            std::memcpy(out, pairs.data() + 2 * (half >> static_cast<unsigned>(shift) & 255U), 2);
    }
}

void TaskId::toBytes(char* out) const noexcept {
    detail::storeBigEndian(high_, out);
    detail::storeBigEndian(low_, out + 8);
}

TaskId TaskId::fromBytes(const char* bytes) noexcept {
    return {detail::loadBigEndian({bytes, 8}), detail::loadBigEndian({bytes + 8, 8})};
}

std::ostream& operator<<(std::ostream& out, const ThreadId& id) { return out << id.view(); }
std::ostream& operator<<(std::ostream& out, const CheckpointId& id) { return out << id.toString(); }
std::ostream& operator<<(std::ostream& out, const TaskId& id) { return out << id.toString(); }

}  // namespace stategraph
