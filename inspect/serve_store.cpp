#include <algorithm>
#include <fstream>
#include <string>

#include <stategraph/inspect/server.hpp>

#include "inspect/commands.hpp"
#include "inspect/http/key.hpp"
#include "inspect/shown_store.hpp"

namespace stategraph::inspect {

namespace {

/// A file keeps the key from whoever can list the processes of the computer.
std::string keyOf(const Call& call) {
    const auto file = call.arguments.value("--key-file");
    const auto given = call.arguments.value("--key");
    if (file && given) throw UsageError{"give either --key or --key-file"};
    if (!file && !given) return {};
    std::string key = given.value_or("");
    std::string name = "the key of --key";
    if (file) {
        name = "the first line of the file '" + *file + "' of --key-file";
        std::ifstream in(*file);
        if (!std::getline(in, key)) throw UsageError{name + " cannot be read"};
    }
    if (!isAcceptableKey(key)) {
        throw UsageError{name + " needs " + std::string(key_rule) +
                         "; without --key and --key-file STATEGRAPH_INSPECTOR_KEY is the key, or a random one"};
    }
    return key;
}

}  // namespace

// serve: serves the page for a store, until a signal ends it.
Exit serveStore(Call& call) {
    const std::size_t port = call.arguments.number("--port", 0, 0);
    if (port > 65'535) throw UsageError{"--port takes a number up to 65535"};
    ServerOptions options{.port = static_cast<std::uint16_t>(port),
                          .write = call.arguments.has("--write"),
                          .redact = {},
                          .key = keyOf(call),
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
