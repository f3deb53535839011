#include "inspect/shown_store.hpp"

#include <doctest/doctest.h>

using stategraph::inspect::shownStore;

TEST_CASE("the name of a store is shown without passwords and keys") {
    CHECK(shownStore("checkpoints") == "checkpoints");
    CHECK(shownStore("a:b@c?password=d") == "a:b@c?password=d");  // a folder
    CHECK(shownStore("postgresql://host/db#schema") == "postgresql://host/db#schema");
    CHECK(shownStore("postgresql://anna@host:5432/db") == "postgresql://anna@host:5432/db");
    CHECK(shownStore("postgresql://anna:secret@host:5432/db#schema") == "postgresql://anna:***@host:5432/db#schema");
    CHECK(shownStore("postgres://anna:se@cr/et@host/db?application_name=a@b") ==
          "postgres://anna:***@host/db?application_name=a@b");
    CHECK(shownStore("postgresql:///db?host=/tmp&password=secret&sslpassword=more#schema") ==
          "postgresql:///db?host=/tmp&password=***&sslpassword=***#schema");
    CHECK(shownStore("postgresql:///db?password=secret") == "postgresql:///db?password=***");
    CHECK(shownStore("postgresql://") == "postgresql://");
    CHECK(shownStore("http://127.0.0.1:8000/#k=0123456789abcdef0123").find("0123456789abcdef0123") ==
          std::string::npos);
}
