#pragma once
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include <stategraph/encoding.hpp>

#include "tests/support/seed.hpp"

namespace bytes {

inline std::string toHex(std::string_view bytes) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    for (const char c : bytes) {
        out += digits[static_cast<unsigned char>(c) >> 4U];
        out += digits[static_cast<unsigned char>(c) & 15U];
    }
    return out;
}

inline std::string fromHex(std::string_view hex) {
    std::string out;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    }
    return out;
}

/// Returns what `write(encoder)` encodes, as hexadecimal digits.
template <class Write>
std::string encoded(Write write) {
    std::string out;
    stategraph::Encoder encoder(out);
    write(encoder);
    return toHex(out);
}

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    std::uint64_t bits() { return engine_(); }
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
    bool chance(std::size_t one_in) { return below(one_in) == 0; }
    /// Returns integers of every size, not mostly huge ones.
    std::uint64_t number() { return engine_() >> below(64); }
    std::string text(std::size_t size_max) {
        std::string out(below(size_max + 1), ' ');
        for (char& c : out) c = static_cast<char>(chance(20) ? bits() : 'a' + below(26));
        return out;
    }

    /// Writes one random well-formed item.
    void item(stategraph::Encoder& out, int depth = 0) {
        switch (below(depth < 6 ? 9 : 7)) {
            case 0:
                return out.null();
            case 1:
                return out.boolean(chance(2));
            case 2:
                return out.unsignedInteger(number());
            case 3:
                return out.integer(-static_cast<std::int64_t>(number() >> 1U));
            case 4:
                return out.real(static_cast<double>(number()) / 64);
            case 5:
                return out.text(text(40));
            case 6:
                return out.bytes(text(40));
            case 7: {
                const std::size_t count = below(5);
                out.array(count);
                for (std::size_t i = 0; i < count; ++i) item(out, depth + 1);
                return;
            }
            default: {
                const std::size_t count = below(5);
                out.map(count);
                for (std::size_t i = 0; i < 2 * count; ++i) item(out, depth + 1);
            }
        }
    }
    std::string item() {
        std::string out;
        stategraph::Encoder encoder(out);
        item(encoder);
        return out;
    }
    /// Changes, inserts, removes or duplicates some bytes.
    void damage(std::string& bytes) {
        for (std::size_t n = 1 + below(3); n > 0; --n) {
            const std::size_t at = bytes.empty() ? 0 : below(bytes.size());
            switch (below(4)) {
                case 0:
                    if (!bytes.empty()) bytes[at] = static_cast<char>(bits());
                    break;
                case 1:
                    bytes.insert(at, 1, static_cast<char>(bits()));
                    break;
                case 2:
                    bytes.erase(at, 1 + below(4));
                    break;
                default:
                    bytes.insert(at, bytes.substr(at, below(8)));
            }
        }
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace bytes
