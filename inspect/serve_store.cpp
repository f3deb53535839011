#include <algorithm>

#include <stategraph/inspect/server.hpp>

#include "inspect/commands.hpp"
#include "inspect/shown_store.hpp"

namespace stategraph::inspect {

// serve: serves the page for a store, until a signal ends it.
Exit serveStore(Call& call) {
    const std::size_t port = call.arguments.number("--port", 0, 0);
    if (port > 65'535) throw UsageError{"--port takes a number up to 65535"};
    ServerOptions options{.port = static_cast<std::uint16_t>(port),
                          .write = call.arguments.has("--write"),
                          .redact = {},
                          .key = call.arguments.value("--key").value_or(""),
                          .store = shownStore(call.store),
                          .handle_signals = true};
    if (const auto patterns = call.arguments.value("--redact")) {
        for (std::size_t at = 0; at <= patterns->size();) {
            const std::size_t end = std::min(patterns->find(',', at), patterns->size());
            if (end > at) options.redact.push_back(patterns->substr(at, end - at));
            at = end + 1;
        }
    }
    Server server(call.shared_saver, std::move(options));
    call.terminal.out() << server.url() << '\n' << std::flush;
    server.wait();
    return Exit::done;
}

}  // namespace stategraph::inspect
