// SECONDS: 40
// Several servers of which one is the primary: one that is frozen, and commits that no standby has.
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/postgres_store.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/storage/postgres/postgres_proxy.hpp"
#include "tests/support/until.hpp"

using namespace postgres_tests;
using namespace stategraph;
using namespace stategraph::testing;
using namespace std::chrono_literals;

namespace {

/// Accepts connections and never answers, as a server does whose processes are stopped.
class Frozen {
public:
    Frozen() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_, 64) != 0 ||
            ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("a frozen server cannot listen");
        port_ = ntohs(address.sin_port);
    }
    Frozen(const Frozen&) = delete;
    Frozen& operator=(const Frozen&) = delete;
    ~Frozen() { ::close(socket_); }
    int port() const noexcept { return port_; }

private:
    const int socket_;
    int port_ = 0;
};

/// A server whose commits with synchronous_commit=on wait for a standby that does not exist.
struct Alone {
    Server server{{"wal_level = replica", "max_wal_senders = 1", "synchronous_standby_names = 'nobody'"}};
    Schema schema{server.conninfo() + " options='-c synchronous_commit=local'"};

    std::string waiting() const {
        return Raw(server.conninfo()).run("SELECT min(pid)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    }
    std::string awaitWaiting() const {
        std::string pid;
        patience::until([&] { return !(pid = waiting()).empty(); });
        return pid;
    }
};

/// For calls that must end although no standby comes.
constexpr auto short_limit = 3s;

std::unique_ptr<PostgresSaver> openShort(const Schema& schema) {
    (void)schema.open();
    PostgresSaverOptions options;
    options.statement_timeout = short_limit;
    return schema.open(options);
}

std::future<std::string> startPut(PostgresSaver& saver) {
    return std::async(std::launch::async,
                      [&] { return databaseError([&] { putOne(saver, {"t"}, {}, makeCommit(1, 0), true); }); });
}

}  // namespace

TEST_CASE("a frozen server that is named first does not keep a saver from the next one") {
    const Frozen frozen;
    const Schema schema;
    const std::unique_ptr<PostgresSaver> direct = schema.open();
    putLine(*direct, {"t"}, 3);
    const std::string folder = Proxy::socketOf(conninfo());
    const std::string host = folder.substr(0, folder.rfind('/'));
    const std::string info = "host=127.0.0.1," + host + " port=" + std::to_string(frozen.port()) +
                             ",5432 user=sg dbname=postgres connect_timeout=1";
    PostgresSaverOptions options;
    options.schema = schema.name();
    // The first connection finds out. The others begin with the server that worked.
    PostgresSaver saver(info, options);
    CHECK(listIds(saver, {"t"}) == nthIds({3, 2, 1}));
}

TEST_CASE("servers of which none can be opened are all named by the error") {
    const Frozen first;
    const Frozen second;
    const std::string info = "host=127.0.0.1,127.0.0.1 port=" + std::to_string(first.port()) + "," +
                             std::to_string(second.port()) + " user=sg dbname=postgres";
    PostgresSaverOptions options;
    options.connect_timeout = 50ms;
    const std::string said = databaseError([&] { const PostgresSaver saver(info, options); });
    POSTGRES_SAYS(said, "127.0.0.1:" + std::to_string(first.port()));
    POSTGRES_SAYS(said, "127.0.0.1:" + std::to_string(second.port()));
    POSTGRES_SAYS(said, "did not answer within 50 ms");
}

TEST_CASE("a commit that the server has alone after a crash does not count as stored with sync") {
    const Alone on;
    const std::unique_ptr<PostgresSaver> saver = openShort(on.schema);
    auto put = startPut(*saver);
    (void)on.awaitWaiting();
    on.server.down();
    on.server.up();
    POSTGRES_SAYS(put.get(), "not known");
    // Without sync it counts, because the server has it.
    CHECK(listIds(*saver, {"t"}) == nthIds({1}));
}

TEST_CASE("a commit does not count as stored with sync if somebody cancels its wait for the standby") {
    const Alone on;
    const std::unique_ptr<PostgresSaver> saver = openShort(on.schema);
    auto put = startPut(*saver);
    Raw(on.server.conninfo()).run("SELECT pg_cancel_backend(" + on.awaitWaiting() + ")");
    POSTGRES_SAYS(put.get(), "not known");
}

TEST_CASE("items that the server has alone after a crash do not count as stored with sync") {
    const Alone on;
    PostgresStoreOptions options;
    options.sync = true;
    options.statement_timeout = short_limit;
    (void)on.schema.openStore();
    const auto store = on.schema.openStore({}, options);
    auto put = std::async(std::launch::async,
                          [&] { return databaseError([&] { store->put({"a"}, "k", parseJson(R"({"n": 1})")); }); });
    (void)on.awaitWaiting();
    on.server.down();
    on.server.up();
    CHECK_FALSE(put.get().empty());
}
