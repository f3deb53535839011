// GET /threads/ID/stream: the events of all runs of a thread, for a client that joins the thread.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/memory_saver.hpp>

#include "langgraph/identifiers.hpp"
#include "tests/langgraph/served_app.hpp"
#include "tests/serve/client.hpp"

namespace {

namespace json = boost::json;
namespace sg = stategraph;
using langgraph_tests::makeApp;
using langgraph_tests::Served;

/// A client that reads the events of a thread.
class Joined {
public:
    struct Event {
        std::string name;
        json::value data;
        std::string id;
    };

    Joined(const Served& served, const std::string& thread, const std::string& query = {}, const std::string& last = {})
        : connection_(served.server.port()) {
        connection_.request("GET", "/threads/" + thread + "/stream" + query, {},
                            last.empty() ? std::string() : "Last-Event-ID: " + last + "\r\n");
        status = connection_.head().status;
    }
    /// Its name is empty at the end of the response.
    Event next() {
        for (;;) {
            const std::size_t end = text_.find("\n\n");
            if (end == std::string::npos) {
                const std::string more = connection_.chunk();
                if (more.empty()) return {};
                text_ += more;
                continue;
            }
            const std::string block = text_.substr(0, end);
            text_.erase(0, end + 2);
            if (!block.starts_with(":"))
                return {line(block, "event: "), json::parse(line(block, "data: ")), line(block, "id: ")};
        }
    }
    /// The names of the events up to the end of a run, the ids of all, and the id of the run.
    std::string untilDone() {
        std::string names;
        for (;;) {
            const Event event = next();
            if (event.name.empty()) return names + "(end)";
            ids.push_back(event.id);
            names += event.name + " ";
            if (event.name != "metadata") continue;
            run = json::value_to<std::string>(event.data.at("run_id"));
            const json::value* const how = event.data.as_object().if_contains("status");
            if (how != nullptr && *how == json::value("run_done")) return names;
        }
    }

    int status = 0;
    std::string run;
    std::vector<std::string> ids;

private:
    static std::string line(const std::string& block, std::string_view name) {
        const std::size_t at = block.find(name);
        if (at == std::string::npos) return {};
        return block.substr(at + name.size(), block.find('\n', at) - at - name.size());
    }

    client::Connection connection_;
    std::string text_;
};

std::string beganRun(const Served& served, const std::string& thread, const char* name) {
    const std::string body = R"({"assistant_id": "app", "stream_mode": ["updates"], "multitask_strategy": "enqueue",)"
                             R"( "input": {"name": ")" +
                             std::string(name) + R"("}})";
    return Served::textOf(json::parse(served.ask("POST", "/threads/" + thread + "/runs", body).body), "run_id");
}

constexpr const char* one_run = "metadata updates updates metadata ";

}  // namespace

TEST_CASE("a client that joins a thread gets the run under way from its beginning, and then each run after it") {
    const auto gate = std::make_shared<gates::Gate>();
    const Served served(makeApp(std::make_shared<sg::MemorySaver>(), gate));
    const std::string thread = served.newThread();
    Joined early(served, thread);
    CHECK(early.status == 200);
    const std::string first = beganRun(served, thread, "a");
    CHECK(early.next().name == "metadata");
    Joined late(served, thread);
    const std::string second = beganRun(served, thread, "b");
    gate->open();
    CHECK(early.untilDone() == "updates updates metadata ");
    CHECK(early.untilDone() == one_run);
    CHECK(early.run == second);
    CHECK(late.untilDone() == one_run);
    CHECK(late.run == first);
    CHECK(late.untilDone() == one_run);
    (void)served.join(thread, second);
    Joined after(served, thread);
    const std::string third = beganRun(served, thread, "c");
    CHECK(after.untilDone() == one_run);
    CHECK(after.run == third);
    // Another thread's runs are none of it.
    (void)beganRun(served, served.newThread(), "d");
    CHECK(served.ask("DELETE", "/threads/" + thread).status == 204);
    CHECK(after.untilDone() == "(end)");
}

TEST_CASE("a client that comes back to a thread gets what follows its last event, over all runs") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string thread = served.newThread();
    (void)served.join(thread, beganRun(served, thread, "a"));
    (void)served.join(thread, beganRun(served, thread, "b"));
    Joined all(served, thread, {}, "-1");
    CHECK(all.untilDone() == one_run);
    CHECK(all.untilDone() == one_run);
    REQUIRE(all.ids.size() == 8);
    Joined back(served, thread, {}, all.ids[1]);
    CHECK(back.untilDone() == "updates metadata ");
    CHECK(back.untilDone() == one_run);
    Joined between(served, thread, {}, all.ids[3]);
    CHECK(between.untilDone() == one_run);
    CHECK(between.run == all.run);
    Joined unknown(served, thread, {}, sg::langgraph::newId() + "/3");
    CHECK(unknown.untilDone() == one_run);
    CHECK(unknown.untilDone() == one_run);
}

TEST_CASE("a client that joins a thread gets no runs of a deleted thread that had its id") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string thread = served.newThread();
    (void)served.join(thread, beganRun(served, thread, "a"));
    Joined former(served, thread, {}, "-1");
    CHECK(former.untilDone() == one_run);
    CHECK(served.ask("DELETE", "/threads/" + thread).status == 204);
    CHECK(served.ask("POST", "/threads", R"({"thread_id": ")" + thread + "\"}").status == 200);
    const std::string run = beganRun(served, thread, "b");
    Joined joined(served, thread, {}, "-1");
    CHECK(joined.untilDone() == one_run);
    CHECK(joined.run == run);
    CHECK(former.untilDone() == "(end)");
}

TEST_CASE("the values after a run are those that it left, whatever runs came later") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string thread = served.newThread();
    (void)served.join(thread, beganRun(served, thread, "a"));
    (void)served.join(thread, beganRun(served, thread, "b"));
    Joined states(served, thread, "?stream_mode=state_update", "-1");
    const auto log = [&] { return json::serialize(states.next().data.at("values").at("log")); };
    CHECK(log() == R"(["first a","work a"])");
    CHECK(log() == R"(["first a","work a","first b","work b"])");
}

TEST_CASE("a client that joins a thread may ask for beginnings and ends of runs alone, and for the values after each") {
    const Served served(makeApp(std::make_shared<sg::MemorySaver>()));
    const std::string thread = served.newThread();
    Joined lifecycle(served, thread, "?stream_mode=lifecycle");
    Joined states(served, thread, "?stream_mode=state_update");
    const std::string run = beganRun(served, thread, "a");
    CHECK(lifecycle.untilDone() == "metadata metadata ");
    CHECK(lifecycle.run == run);
    const Joined::Event update = states.next();
    CHECK(update.name == "state_update");
    CHECK(update.data.at("thread_id") == json::value(thread));
    CHECK(update.data.at("values").at("log") == json::value(json::array{"first a", "work a"}));
    CHECK(served.ask("GET", "/threads/" + thread + "/stream?stream_mode=values").status == 422);
    CHECK(served.ask("GET", "/threads/" + sg::langgraph::newId() + "/stream").status == 404);
}
