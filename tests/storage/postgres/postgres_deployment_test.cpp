// SECONDS: 70
// PostgreSQL as people operate it: through PgBouncer in transaction mode, over TLS, and with a standby that takes over.
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stategraph/async.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/testing/saver_contract.hpp>

#include "tests/storage/postgres/postgres_helper.hpp"
#include "tests/support/until.hpp"

namespace sg = stategraph;
using namespace std::chrono_literals;
using postgres_tests::databaseError;
using postgres_tests::Raw;
using postgres_tests::Schema;
using postgres_tests::Server;

namespace {

struct State {
    int n = 0;
    std::string text = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("n", &State::n), sg::channel("text", &State::text),
                            sg::channel("log", &State::log, sg::append));
    }
};

sg::CompiledGraph<State> loop(std::shared_ptr<sg::BaseCheckpointSaver> saver, int steps, std::size_t bytes = 10) {
    sg::StateGraph<State> graph;
    graph.addNode("work", [bytes](const State& state) {
        return sg::update(sg::set<&State::n>(state.n + 1), sg::set<&State::text>(std::string(bytes, 'x')),
                          sg::add<&State::log>("entry " + std::to_string(state.n)));
    });
    graph.addEdge(sg::START, "work").addConditionalEdges("work", [steps](const State& state) {
        return state.n < steps ? "work" : sg::END;
    });
    return graph.compile({.checkpointer = std::move(saver)});
}

/// A server with PgBouncer before it.
struct Pooled {
    Server server;
    std::unique_ptr<Server> pooler = server.pooler();

    /// The one that all tests here share.
    static std::string conninfo() {
        static const Pooled pooled;
        return pooled.pooler->conninfo();
    }
};

struct PgBouncerFactory {
    std::unique_ptr<sg::BaseCheckpointSaver> make() { return schema.open({.prepared_statements = false}); }
    std::unique_ptr<sg::BaseCheckpointSaver> reopen() { return make(); }
    Schema schema{Pooled::conninfo()};
};

/// A port that nobody has now. It is none of those that the system gives to clients and to other tests' servers: one of
/// them could get it before the server has it.
int freePort() {
    static int next = 0;
    for (;;) {
        const int port = 10'000 + (static_cast<int>(::getpid()) + 7 * next++) % 20'000;
        const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        const bool is_free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
        ::close(socket);
        if (is_free) return port;
        REQUIRE(next < 1000);
    }
}

}  // namespace

STATEGRAPH_SAVER_CONTRACT(PgBouncerFactory);

TEST_CASE("runs of sixteen threads share two connections of PgBouncer, blocking and awaited") {
    const Schema schema(Pooled::conninfo());
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open({.prepared_statements = false});
    const auto app = loop(saver, 20);
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i) {
        threads.emplace_back([&, i] {
            const auto durability = i % 2 == 0 ? sg::Durability::sync : sg::Durability::async;
            const std::string thread = "t" + std::to_string(i);
            (void)app.invoke({sg::set<&State::n>(0)}, {.thread_id = thread, .durability = durability});
        });
    }
    const auto awaited = [&](int i) -> sg::Task<> {
        const auto result = co_await app.asyncInvoke({sg::set<&State::n>(0)}, {.thread_id = "a" + std::to_string(i)});
        CHECK(result.values.n == 20);
    };
    std::vector<sg::Task<>> tasks;
    for (int i = 0; i < 16; ++i) tasks.push_back(awaited(i));
    const auto all = [&]() -> sg::Task<> { co_await sg::whenAll(std::move(tasks)); };
    sg::syncWait(all());
    for (std::thread& thread : threads) thread.join();

    const auto memory = std::make_shared<sg::MemorySaver>();
    const auto same = loop(memory, 20);
    const auto expected = same.invoke({sg::set<&State::n>(0)}, {.thread_id = "t"});
    for (int i = 0; i < 16; ++i) {
        for (const char* const kind : {"t", "a"}) {
            const std::string thread = kind + std::to_string(i);
            CHECK(app.getState({.thread_id = thread}).values.log == expected.values.log);
            CHECK(saver->list({.thread_id = thread}).size() == 22);
        }
    }
}

TEST_CASE("prepared statements through PgBouncer in transaction mode are an error that says what to change") {
    const Schema schema(Pooled::conninfo());
    const std::string said = databaseError([&] {
        // A session that keeps threads is lost again and again; a call waits for it so long.
        const std::shared_ptr<sg::PostgresSaver> saver = schema.open({.reconnect_for = 4s});
        std::vector<std::thread> threads;
        std::vector<std::string> errors(8);
        for (std::size_t i = 0; i < errors.size(); ++i) {
            threads.emplace_back([&, i] {
                errors[i] = databaseError([&] {
                    (void)loop(saver, 20).invoke({sg::set<&State::n>(0)}, {.thread_id = "t" + std::to_string(i)});
                });
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (const std::string& error : errors) {
            if (!error.empty()) throw sg::SaverError(error);
        }
    });
    POSTGRES_SAYS(said, "prepared_statements = false");
}

TEST_CASE("a server that is reached over TLS alone stores large and small values, blocking and awaited") {
    const Server server;
    const int port = freePort();
    server.useTls(port);
    const std::string address = "host=localhost hostaddr=127.0.0.1 port=" + std::to_string(port) +
                                " user=sg dbname=postgres sslmode=verify-full sslrootcert=";
    const Schema schema(address + (server.folder() / "server.crt").string());
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open();
    CHECK(Raw(address + (server.folder() / "server.crt").string())
              .run("SELECT count(*) > 0 AND bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE "
                   "backend_type = 'client backend'") == "t");
    const auto app = loop(saver, 5, 3'000'000);
    for (const auto durability : {sg::Durability::sync, sg::Durability::async, sg::Durability::exit}) {
        const std::string thread = std::to_string(static_cast<int>(durability));
        (void)app.invoke({sg::set<&State::n>(0)}, {.thread_id = thread, .durability = durability});
        const auto awaited = [&]() -> sg::Task<> {
            (void)co_await app.asyncInvoke({sg::set<&State::n>(0)},
                                           {.thread_id = "a" + thread, .durability = durability});
        };
        sg::syncWait(awaited());
        for (const std::string& name : {thread, "a" + thread}) {
            const auto values = app.getState({.thread_id = name}).values;
            CHECK(values.text == std::string(3'000'000, 'x'));
            CHECK(values.log.size() == 5);
        }
    }

    const Server stranger;
    stranger.useTls(freePort());
    POSTGRES_SAYS(databaseError([&] {
                      const sg::PostgresSaver refused(address + (stranger.folder() / "server.crt").string(),
                                                      {.schema = schema.name()});
                  }),
                  "certificate verify failed");
    POSTGRES_SAYS(databaseError([&] {
                      const sg::PostgresSaver refused("host=localhost hostaddr=127.0.0.1 port=" + std::to_string(port) +
                                                          " user=sg dbname=postgres sslmode=disable",
                                                      {.schema = schema.name()});
                  }),
                  "no encryption");
}

TEST_CASE("a standby is read, and takes over with all that was acknowledged") {
    const auto first = std::make_unique<Server>(std::vector<std::string>{"wal_level = replica", "max_wal_senders = 4"});
    const std::unique_ptr<Server> second = first->standby();
    // It answers before it follows, and what it was copied with may still be there.
    std::string name;
    patience::until([&] {
        name = Raw(first->conninfo())
                   .run(
                       "SELECT application_name FROM pg_stat_replication WHERE state = 'streaming' AND "
                       "application_name <> 'pg_basebackup'");
        return !name.empty();
    });
    Raw(first->conninfo()).run("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'");
    Raw(first->conninfo()).run("SELECT pg_reload_conf()");
    const auto isSynchronous = [&] {
        return Raw(first->conninfo()).run("SELECT sync_state FROM pg_stat_replication") == "sync";
    };
    patience::until([&] { return isSynchronous(); });

    const Schema schema("host=" + first->folder().string() + "," + second->folder().string() +
                        " user=sg dbname=postgres target_session_attrs=read-write");
    const std::shared_ptr<sg::PostgresSaver> saver = schema.open();
    const auto app = loop(saver, 1'000'000);
    const sg::RunConfig config{.thread_id = "t", .durability = sg::Durability::sync, .recursion_limit = 10};
    const auto ten = [&](bool begins) {
        try {
            if (begins) {
                (void)app.invoke({sg::set<&State::n>(0)}, config);
            } else {
                (void)app.invoke(sg::RESUME, config);
            }
        } catch (const sg::GraphRecursionError&) {
        }
    };
    ten(true);
    const int acknowledged = app.getState({.thread_id = "t"}).values.n;
    CHECK(acknowledged > 0);

    const auto reading =
        postgres_tests::patient<sg::PostgresSaverOptions>({.schema = schema.name(), .read_only = true});
    // The standby has the tables and the commits on its disk when they are acknowledged, and shows them a moment later.
    std::shared_ptr<sg::PostgresSaver> follower;
    const auto open = [&] { follower = std::make_shared<sg::PostgresSaver>(second->conninfo(), reading); };
    patience::until([&] { return databaseError(open).find("has no tables") == std::string::npos; });
    REQUIRE(follower != nullptr);
    const auto shown = [&] { return loop(follower, 1).getState({.thread_id = "t"}).values.n; };
    patience::until([&] { return shown() >= acknowledged; });
    POSTGRES_SAYS(databaseError([&] { sg::testing::putOne(*follower, {"new"}, {}, sg::testing::makeCommit(1, 0)); }),
                  "read_only");
    POSTGRES_SAYS(databaseError([&] {
                      sg::PostgresSaver writing(second->conninfo(), postgres_tests::patient<sg::PostgresSaverOptions>(
                                                                        {.schema = schema.name()}));
                      sg::testing::putOne(writing, {"new"}, {}, sg::testing::makeCommit(1, 0));
                  }),
                  "standby");

    first->down();
    second->promote();
    ten(false);
    CHECK(app.getState({.thread_id = "t"}).values.n > acknowledged);
    CHECK(shown() > acknowledged);
    const std::vector<std::string> log = app.getState({.thread_id = "t"}).values.log;
    for (std::size_t i = 0; i < log.size(); ++i) CHECK(log[i] == "entry " + std::to_string(i));
}
