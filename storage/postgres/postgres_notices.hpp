#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/postgres_listener.hpp>

#include "storage/postgres/postgres_connection.hpp"

// Notifications as PostgreSQL sends them: a channel for each schema, and a text for each notice.
namespace stategraph::checkpoint {

/// The channel of a schema: "stategraph_" and sixteen hexadecimal digits of the SHA-256 of its name, because a
/// channel's name has the limits of an identifier and a schema may have any name. If two schemas had the same one,
/// their readers would look once more than necessary.
std::string postgresChannel(std::string_view schema);

struct PostgresNoticeText {
    PostgresNotice notice = PostgresNotice::work;
    std::string name;
};

/// "w" and the queue, "x", or "c" and the thread's id in hexadecimal digits.
std::string encodeNotice(PostgresNotice notice, std::string_view name);
/// None for a text that is not one of these.
std::optional<PostgresNoticeText> decodeNotice(std::string_view text);

/// What a listener sends to itself.
inline constexpr std::string_view probe_prefix = "p";

/// Sends notifications: the channel and an array of texts. The commit waits for no disk.
PostgresStatement notifyStatement();

}  // namespace stategraph::checkpoint
