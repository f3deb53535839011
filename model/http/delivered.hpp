#pragma once

namespace stategraph::model::http {

/// Whether the computer at the other end of a TCP connection has acknowledged all bytes that were sent, also if the
/// connection has ended since. True if that cannot be known.
bool isDelivered(int socket) noexcept;

}  // namespace stategraph::model::http
