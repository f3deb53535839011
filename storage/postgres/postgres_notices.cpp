#include "storage/postgres/postgres_notices.hpp"

#include "src/value/sha256.hpp"

namespace stategraph {

const char* toString(PostgresNotice notice) noexcept {
    switch (notice) {
        case PostgresNotice::listening:
            return "listening";
        case PostgresNotice::work:
            return "work";
        case PostgresNotice::cancel:
            return "cancel";
        case PostgresNotice::commit:
            return "commit";
    }
    return "unknown";
}

namespace checkpoint {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

std::string inHex(std::string_view bytes) {
    std::string hex;
    for (const char each : bytes) {
        const auto byte = static_cast<unsigned char>(each);
        hex += digits[byte >> 4U];
        hex += digits[byte & 15U];
    }
    return hex;
}

std::optional<std::string> fromHex(std::string_view hex) {
    if (hex.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const std::size_t high = digits.find(hex[i]);
        const std::size_t low = digits.find(hex[i + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
        bytes += static_cast<char>(high << 4U | low);
    }
    return bytes;
}

}  // namespace

std::string postgresChannel(std::string_view schema) {
    const auto digest = detail::sha256(schema);
    return "stategraph_" + inHex({reinterpret_cast<const char*>(digest.data()), 8});
}

std::string encodeNotice(PostgresNotice notice, std::string_view name) {
    switch (notice) {
        case PostgresNotice::work:
            return "w" + std::string(name);
        case PostgresNotice::cancel:
            return "x";
        case PostgresNotice::commit:
            return "c" + inHex(name);
        case PostgresNotice::listening:
            break;
    }
    return {};
}

std::optional<PostgresNoticeText> decodeNotice(std::string_view text) {
    if (text.empty()) return std::nullopt;
    const std::string_view rest = text.substr(1);
    if (text[0] == 'w') return PostgresNoticeText{PostgresNotice::work, std::string(rest)};
    if (text[0] == 'x' && rest.empty()) return PostgresNoticeText{PostgresNotice::cancel, {}};
    if (text[0] != 'c') return std::nullopt;
    auto name = fromHex(rest);
    if (!name) return std::nullopt;
    return PostgresNoticeText{PostgresNotice::commit, std::move(*name)};
}

PostgresStatement notifyStatement() {
    return {"notify",
            "SELECT count(pg_notify($1, u.text)), set_config('synchronous_commit', 'off', true) FROM unnest($2) AS u "
            "(text)",
            {text_type, text_array_type}};
}

}  // namespace checkpoint
}  // namespace stategraph
