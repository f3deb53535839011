// stategraph-langgraph-server --graphs FILE [--saver memory|rocksdb:DIR|sqlite:FILE|postgres:ADDRESS] [--port N]
// Serves the graphs of a description like tests/langgraph/recorded/graphs.json until it is asked to end. `POST
// /internal/truncate` empties it.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include <boost/json.hpp>

#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>

#include "tests/langgraph/server/served_graphs.hpp"

#ifdef STATEGRAPH_HAS_LANGGRAPH_WEBHOOKS
#include <stategraph/langgraph/webhooks.hpp>
#endif
#if STATEGRAPH_HAS_ROCKSDB
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/rocksdb_store.hpp>
#endif
#if STATEGRAPH_HAS_SQLITE
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/sqlite_store.hpp>
#endif
#if STATEGRAPH_HAS_POSTGRES
#include <stategraph/postgres_saver.hpp>
#include <stategraph/postgres_store.hpp>
#endif

namespace {

namespace sg = stategraph;

struct Arguments {
    std::string graphs;
    std::string saver = "memory";
    int port = 2024;
};

Arguments read(int count, char** given) {
    Arguments arguments;
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string name = given[i];
        if (name == "--graphs") {
            arguments.graphs = given[i + 1];
        } else if (name == "--saver") {
            arguments.saver = given[i + 1];
        } else if (name == "--port") {
            arguments.port = std::stoi(given[i + 1]);
        } else {
            throw std::runtime_error("unknown option " + name);
        }
    }
    if (arguments.graphs.empty()) throw std::runtime_error("give the file of the graphs: --graphs FILE");
    return arguments;
}

boost::json::object graphsIn(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    return boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
}

/// The saver and the store of a kind, at a place.
described::Surroundings surroundingsOf(const std::string& kind, [[maybe_unused]] const std::string& place) {
    if (kind == "memory") return {std::make_shared<sg::MemorySaver>(), std::make_shared<sg::MemoryStore>()};
#if STATEGRAPH_HAS_ROCKSDB
    if (kind == "rocksdb")
        return {std::make_shared<sg::RocksDBSaver>(place), std::make_shared<sg::RocksDBStore>(place + ".store")};
#endif
#if STATEGRAPH_HAS_SQLITE
    if (kind == "sqlite")
        return {std::make_shared<sg::SqliteSaver>(place), std::make_shared<sg::SqliteStore>(place + ".store")};
#endif
#if STATEGRAPH_HAS_POSTGRES
    if (kind == "postgres")
        return {std::make_shared<sg::PostgresSaver>(place), std::make_shared<sg::PostgresStore>(place)};
#endif
    throw std::runtime_error("this program has no saver '" + kind + "'");
}

}  // namespace

int main(int count, char** given) {
    try {
        const Arguments arguments = read(count, given);
        const std::size_t colon = std::min(arguments.saver.find(':'), arguments.saver.size());
        const std::string place = colon < arguments.saver.size() ? arguments.saver.substr(colon + 1) : "";
        const described::Surroundings surroundings = surroundingsOf(arguments.saver.substr(0, colon), place);
        sg::serve::Server server({.port = static_cast<std::uint16_t>(arguments.port),
                                  .show_errors = true,
                                  .origins = {"*"},
                                  .handle_signals = true});
        sg::langgraph::ApiOptions options{.store = surroundings.store, .can_truncate = true};
#ifdef STATEGRAPH_HAS_LANGGRAPH_WEBHOOKS
        options.webhooks = sg::langgraph::httpWebhooks({.hosts = {"127.0.0.1"}, .key = "the key of a test's webhooks"});
#endif
        sg::langgraph::serve(server, described::served(graphsIn(arguments.graphs), surroundings), options);
        std::cout << "http://127.0.0.1:" << server.port() << std::endl;
        server.wait();
    } catch (const std::exception& error) {
        std::cerr << "stategraph-langgraph-server: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
