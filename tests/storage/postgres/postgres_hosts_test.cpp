// The order in which the servers of a connection string are tried.
#include <cstddef>

#include <doctest/doctest.h>

#include "storage/postgres/postgres_hosts.hpp"

using stategraph::checkpoint::PostgresHosts;

TEST_CASE("a server that cannot be connected to is tried last, and one that worked first") {
    PostgresHosts hosts("host=a,b,c target_session_attrs=any");
    REQUIRE(hosts.count() == 3);
    hosts.noteFailed(0);
    CHECK(hosts.first() == std::size_t{1});
    hosts.noteFailed(0);  // by another connection, which began when it was the first
    CHECK(hosts.first() == std::size_t{1});
    hosts.noteWorking(2);
    CHECK(hosts.first() == std::size_t{2});
}

TEST_CASE("a broken connection changes the order of servers only if not any of them will do") {
    PostgresHosts primary("host=a,b target_session_attrs=read-write");
    primary.noteLost(0);
    CHECK(primary.first() == std::size_t{1});
    PostgresHosts any("host=a,b target_session_attrs=any");
    any.noteLost(0);
    CHECK(any.first() == std::size_t{0});
    PostgresHosts unnamed("host=a,b");  // `any` is libpq's default
    unnamed.noteLost(0);
    CHECK(unnamed.first() == std::size_t{0});
}
