#include <string>

#include <doctest/doctest.h>

#include "langgraph/webhooks/ip_address.hpp"

using stategraph::langgraph::ipAddressOf;
using stategraph::langgraph::isPublic;

TEST_CASE("addresses that are not of the public internet are known in each of their forms") {
    for (
        const char* const text :
        {"0.0.0.0",       "10.1.2.3",       "100.64.0.1",       "127.0.0.1",       "127.255.255.254", "169.254.169.254",
         "172.16.0.1",    "172.31.255.255", "192.0.0.1",        "192.0.2.1",       "192.168.1.1",     "198.18.0.1",
         "198.51.100.1",  "203.0.113.9",    "224.0.0.1",        "240.0.0.1",       "255.255.255.255", "::",
         "::1",           "::127.0.0.1",    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1",
         "2002:7f00:1::", "2001:0:1::",     "2001:db8::1",      "fc00::1",         "fd12::1",         "fe80::1",
         "fec0::1",       "ff02::1",        "3fff::1",          "100::1"}) {
        CAPTURE(text);
        const auto address = ipAddressOf(std::string(text));
        REQUIRE(address.has_value());
        CHECK(!isPublic(*address));
    }
    for (const char* const text : {"1.1.1.1", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.128.0.1", "192.1.0.1",
                                   "223.255.255.255", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1"}) {
        CAPTURE(text);
        const auto address = ipAddressOf(std::string(text));
        REQUIRE(address.has_value());
        CHECK(isPublic(*address));
    }
}

TEST_CASE("a text that is not an address in its usual form is none") {
    for (const char* const text :
         {"", "127.1", "2130706433", "0x7f.0.0.1", "localhost", "[::1]", "fe80::1%lo", "1.2.3.4 "}) {
        CAPTURE(text);
        CHECK(!ipAddressOf(std::string(text)));
    }
}
