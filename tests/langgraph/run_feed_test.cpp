// What readers of a run get whose oldest events are forgotten.
#include <memory>

#include <doctest/doctest.h>

#include "langgraph/run_feed.hpp"

using stategraph::langgraph::FeedBytes;
using stategraph::langgraph::RunFeed;

TEST_CASE("a reader from the beginning gets the events that are kept, and one that would have a gap breaks off") {
    RunFeed feed(20, std::make_shared<FeedBytes>(1000), 0);
    for (const char* const text : {"1111", "2222", "3333", "4444"}) feed.add("values", text);
    feed.end(true);
    const RunFeed::Read whole = feed.read(0, {});
    CHECK(whole.text == "event: values\ndata: 3333\nid: 2\n\nevent: values\ndata: 4444\nid: 3\n\n");
    CHECK(whole.next == 4);
    CHECK(whole.is_end);
    CHECK(feed.read(1, {}).is_lost);
    CHECK(feed.first() == 2);
    CHECK_FALSE(feed.read(feed.first(), {}).is_lost);
}
