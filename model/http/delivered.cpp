#include "model/http/delivered.hpp"

#include <cstddef>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace stategraph::model::http {

bool isDelivered(int socket) noexcept {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
    if (size < offsetof(tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans) return true;  // an old kernel
    // The first byte that is acknowledged is the one that stands for the connection's beginning.
    return info.tcpi_bytes_acked > info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
}

}  // namespace stategraph::model::http
