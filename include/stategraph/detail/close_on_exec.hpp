#pragma once
#include <fcntl.h>

namespace stategraph::detail {

/// Keeps a descriptor from the programs that this process starts. Asio makes its sockets without that.
inline void closeOnExec(int descriptor) noexcept { (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

}  // namespace stategraph::detail
