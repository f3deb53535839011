// SECONDS: 60
// A server that is killed right before, at and after the time at which a schedule is due.
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/langgraph/api.hpp>
#include <stategraph/sqlite_saver.hpp>
#include <stategraph/sqlite_store.hpp>
#include <stategraph/stategraph.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/records.hpp"
#include "langgraph/schedules.hpp"
#include "langgraph/service.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/helper_process.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/until.hpp"

namespace {

namespace json = boost::json;
namespace lg = stategraph::langgraph;
namespace sg = stategraph;
using std::chrono::milliseconds;
using std::chrono::system_clock;

enum Duty : unsigned { adds_schedule = 1, node_waits = 2 };

/// Its node notes that it has begun.
sg::CompiledGraph<sg::JsonState> notingApp(std::shared_ptr<sg::BaseCheckpointSaver> saver, std::filesystem::path begun,
                                           bool waits) {
    sg::JsonSchema schema;
    schema.channel("log", sg::JsonReducer::append()).channel("name");
    sg::StateGraph<sg::JsonState> graph(schema);
    graph.addNode(
        "work",
        [begun = std::move(begun), waits](const sg::JsonState&, sg::Runtime& runtime) -> sg::Update<sg::JsonState> {
            std::ofstream(begun, std::ios::app) << "begun" << std::endl;
            if (waits) runtime.waitFor(std::chrono::hours(1));
            return {sg::write("log", "worked")};
        });
    graph.addEdge(sg::START, "work").addEdge("work", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

/// A schedule that is due once, soon.
lg::ScheduleRecord dueAt(system_clock::time_point at) {
    return {.cron_id = lg::newId(),
            .assistant_id = lg::assistantOf("app"),
            .created_at = lg::now(),
            .updated_at = lg::now(),
            .schedule = "0 0 1 1 *",
            .end_time = at + milliseconds(1),
            .next = at,
            .keeps_threads = true,
            .payload = {{"assistant_id", "app"}, {"input", {{"name", "x"}}}}};
}

/// One process of the server: its first line is the port, and the time at which the schedule is due that it has added.
class DueServer {
public:
    DueServer(const TemporaryFolder& folder, const std::string& name, unsigned task)
        : notes_(folder / name),
          helper_("serves schedules until it is killed", (folder / "threads").string(), notes_,
                  static_cast<int>(task)) {
        helpers::awaitLines(notes_, 1);
        std::string due;
        std::ifstream(notes_) >> port_ >> due;
        if (!due.empty()) due_ = lg::timeOf(due);
    }
    system_clock::time_point due() const { return due_; }
    void kill() { helper_.kill(); }
    json::value ask(std::string_view method, const std::string& target, std::string_view body = {}) const {
        client::Connection connection(port_);
        connection.request(method, target, body);
        return json::parse(connection.read().body);
    }
    json::array threads() const { return ask("POST", "/threads/search", R"({"limit": 100})").as_array(); }
    json::array runsOf(const json::value& thread) const {
        return ask("GET", "/threads/" + json::value_to<std::string>(thread.at("thread_id")) + "/runs").as_array();
    }
    bool isDone() const {
        const json::array all = threads();
        if (all.empty() || all.front().at("status") == "busy") return false;
        const json::array runs = runsOf(all.front());
        return !runs.empty() && runs.front().at("status") == "success";
    }

private:
    std::filesystem::path notes_;
    helpers::Helper helper_;
    std::uint16_t port_ = 0;
    system_clock::time_point due_;
};

/// When the first process is killed: so long after the due time, or when the node has begun.
struct Death {
    milliseconds after_due{0};
    bool in_node = false;
};

void dieAndContinue(const Death& death) {
    const TemporaryFolder folder;
    const std::filesystem::path begun = folder / "begun";
    {
        DueServer first(folder, "first", adds_schedule | (death.in_node ? node_waits : 0U));
        if (death.in_node) helpers::awaitLines(begun, 1);
        std::this_thread::sleep_until(first.due() + death.after_due);  // sleeps: until the process is killed
        first.kill();
    }
    {
        DueServer second(folder, "second", 0);
        second.kill();  // while it begins the run, continues it, or has done it
    }
    const DueServer third(folder, "third", 0);
    patience::until([&] { return third.isDone(); });
    const json::array threads = third.threads();
    REQUIRE(threads.size() == 1);
    CHECK(threads.front().at("values").at("log") == json::value(json::array{"worked"}));
    CHECK(third.runsOf(threads.front()).size() == 1);
    const json::array schedules = third.ask("POST", "/runs/crons/search", "{}").as_array();
    REQUIRE(schedules.size() == 1);
    CHECK(schedules.front().at("next_run_date").is_null());
}

}  // namespace

TEST_CASE("serves schedules until it is killed" * doctest::skip()) {
    const std::string database = helpers::given("STATEGRAPH_TEST_DATABASE");
    if (database.empty()) return;
    const auto task = static_cast<unsigned>(std::stoul(helpers::given("STATEGRAPH_TEST_NUMBER")));
    const std::filesystem::path notes = helpers::given("STATEGRAPH_TEST_NOTES");
    sg::serve::Server server({.request_timeout = std::chrono::minutes(5), .write_timeout = std::chrono::minutes(5)});
    const auto service =
        lg::startService(server,
                         {{"app", lg::graph(notingApp(std::make_shared<sg::SqliteSaver>(database),
                                                      notes.parent_path() / "begun", (task & node_waits) != 0))}},
                         {.store = std::make_shared<sg::SqliteStore>(database + ".store")});
    std::string line = std::to_string(server.port());
    if ((task & adds_schedule) != 0) {
        const lg::ScheduleRecord schedule = dueAt(system_clock::now() + milliseconds(200));
        service->records.store(lg::ScheduleRecords::addition(schedule));
        service->schedules->expect(*schedule.next);
        line += " " + lg::isoTime(*schedule.next, 6);
    }
    std::ofstream(notes) << line << std::endl;
    server.wait();
}

TEST_CASE("a due time makes one run, whenever around it the server's process is killed") {
    const std::vector<Death> deaths = {
        {milliseconds(-1000)}, {milliseconds(-10)}, {milliseconds(0)},  {milliseconds(2)},   {milliseconds(5)},
        {milliseconds(10)},    {milliseconds(20)},  {milliseconds(60)}, {milliseconds(400)}, {{}, true},
    };
    for (const Death& death : deaths) {
        CAPTURE(death.after_due.count());
        CAPTURE(death.in_node);
        dieAndContinue(death);
    }
}
