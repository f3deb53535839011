#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// What a server tells its operator.
namespace stategraph::serve {

/// Receives one line of JSON, without its end, for each thing that happened; members that are not known are left out:
///   {"event": "request", "time", "ms", "status", "method", "operation", "path", "endpoint", "thread", "user",
/// "address"}     a request was answered; for a stream, when it ended. "path" is without the query
///   {"event": "run", "time", "ms", "ending", "supersteps", "operation", "endpoint", "thread", "user", "address",
/// "error", "usage"}     a run that a request began has ended, or was refused before its beginning ("ending":
/// "refused"); "usage" has the tokens of an agent's turn
///   {"event": "refused", "time", "address", "limit"}     a connection was refused
///   {"event": "drain", "time", "runs", "connections"}     the server begins to drain
///   {"event": "error", "time", "number", "text", "endpoint", "thread"}     an error whose number a client was told, in
/// place of its text; once for each text of a thread, as long as the server remembers it
/// Called on the server's threads and on those of runs, several at once; while it works, other connections of its
/// thread wait. What it throws is ignored.
using Log = std::function<void(std::string_view line)>;

/// A figure of the program's own for `/metrics`, such as the lag of a queue.
struct Gauge {
    /// As Prometheus has names: letters, digits and '_', such as "shop_queue_lag_seconds". Others are left out.
    std::string name;
    std::string help;
    double value = 0;
};

/// Called for each request of `/metrics`, on the connection's thread, so that its other connections wait. If it throws,
/// the answer has none of them.
using Gauges = std::function<std::vector<Gauge>()>;

}  // namespace stategraph::serve
