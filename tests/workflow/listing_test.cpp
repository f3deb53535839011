#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/support/list_counting_saver.hpp"

namespace sg = stategraph;
namespace wf = stategraph::workflow;
using wf::RunStatus;

namespace {

struct Asking {
    std::shared_ptr<sg::MemorySaver> saver = std::make_shared<sg::MemorySaver>();
    wf::TypedStep<int, int, std::string, int> ask =
        wf::step("ask", [](const int& n, wf::Suspending<std::string, int>& context) {
            if (n < 0) throw std::runtime_error("negative");
            return n > 9 ? n : context.suspend("how much?");
        });
    wf::Workflow<int, int> flow = wf::workflow<int>("asking").then(ask).commit({.checkpointer = saver});

    void start(const std::string& run, int input, const std::string& region) const {
        // The times of checkpoints have a resolution of milliseconds.
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // sleeps: times of checkpoints have milliseconds
        wf::RunOptions options;
        options.metadata = {{"region", region}, {"input", input}};
        flow.start(run, input, options);
    }
    std::vector<std::string> list(const wf::RunQuery& query = {}) const {
        std::vector<std::string> ids;
        for (const wf::ListedRun& run : flow.flow().list(query)) ids.push_back(run.run_id);
        return ids;
    }
};

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("runs are listed by status, by metadata, and by when they changed") {
    const Asking asking;
    asking.start("a", 1, "north");
    asking.start("b", 20, "south");
    asking.start("c", -1, "north");
    asking.start("d", 2, "south");
    asking.flow.cancel("d");
    wf::workflow<int>("asking too").then(asking.ask).commit({.checkpointer = asking.saver}).start("z", 1);

    CHECK(asking.list() == Ids{"a", "b", "c", "d"});
    CHECK(asking.list({.status = {RunStatus::suspended}}) == Ids{"a"});
    CHECK(asking.list({.status = {RunStatus::failed, RunStatus::canceled}}) == Ids{"c", "d"});
    CHECK(asking.list({.metadata = {{"region", "north"}}}) == Ids{"a", "c"});
    CHECK(asking.list({.status = {RunStatus::failed}, .metadata = {{"region", "south"}}}).empty());
    CHECK(asking.list({.metadata = {{"nothing", 1}}}).empty());

    const auto all = asking.flow.flow().list();
    CHECK(asking.list({.changed_after = all[1].changed_at}) == Ids{"c", "d"});
    CHECK(asking.list({.changed_before = all[1].changed_at}) == Ids{"a"});
    CHECK(all[0].metadata.at("input").as<int>() == 1);
}

TEST_CASE("metadata stays with a run that is resumed, and is in its view") {
    const Asking asking;
    asking.start("a", 1, "north");
    asking.flow.resume("a", asking.ask, 5);
    CHECK(asking.list({.status = {RunStatus::success}, .metadata = {{"region", "north"}}}) == Ids{"a"});
    CHECK(asking.flow.get("a").view.metadata.at("region").as<std::string>() == "north");
}

TEST_CASE("a long list is read in pages") {
    const Asking asking;
    Ids all;
    for (int i = 100; i < 400; ++i) {
        all.push_back(std::to_string(i));
        asking.start(all.back(), 20, "north");
    }
    CHECK(asking.list() == all);
    Ids paged;
    wf::RunQuery query{.limit = 120};
    for (Ids page = asking.list(query); !page.empty(); page = asking.list(query)) {
        CHECK(page.size() <= 120);
        paged.insert(paged.end(), page.begin(), page.end());
        query.after_run_id = page.back();
    }
    CHECK(paged == all);
    CHECK_THROWS_AS(asking.list({.limit = 0}), sg::InvalidArgumentError);
}

TEST_CASE("a list of suspended runs reads only those, and not runs that sleep or threads of other workflows") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    const auto saver = std::make_shared<ListCountingSaver>(*inner);
    const auto ask =
        wf::step("ask", [](const int& n, wf::Suspending<int, int>& context) { return n > 9 ? n : context.suspend(n); });
    const auto asking = wf::workflow<int>("w").then(ask).sleep(std::chrono::hours(24)).commit({.checkpointer = saver});
    const auto other = wf::workflow<int>("other").then(ask).commit({.checkpointer = saver});
    for (int i = 0; i < 10; ++i) {
        asking.start("asks" + std::to_string(i), i == 3 ? 3 : 20);
        other.start("asks" + std::to_string(i), 1);
    }
    const auto list = [&](std::vector<RunStatus> status) {
        saver->read = 0;
        Ids ids;
        for (const wf::ListedRun& run : asking.flow().list({.status = std::move(status)})) ids.push_back(run.run_id);
        return ids;
    };
    CHECK(list({RunStatus::suspended}) == Ids{"asks3"});
    const std::size_t one = saver->read;  // its head, and the run
    CHECK(one <= 2);
    CHECK(list({RunStatus::running, RunStatus::waiting}).size() == 9);
    CHECK(saver->read == 9 * one);
    CHECK(list({RunStatus::suspended, RunStatus::waiting}).size() == 10);
    CHECK(saver->read == 10 * one);
    saver->read = 0;
    CHECK(asking.flow()
              .list({.status = {RunStatus::suspended}, .changed_before = std::chrono::system_clock::time_point()})
              .empty());
    CHECK(saver->read == 0);
}

TEST_CASE("the runs that a dead process left are found without reading threads of other workflows") {
    const auto inner = std::make_shared<sg::MemorySaver>();
    const auto saver = std::make_shared<ListCountingSaver>(*inner);
    const auto add = wf::step("add", [](const int& n) { return n + 1; });
    const auto flow = wf::workflow<int>("w").then(add).commit({.checkpointer = saver});
    flow.start("a", 1);
    // A copy of the beginning of the run, as it was when the process died: nothing is known of such threads.
    const auto rows = inner->list({.thread_id = "w/a"});
    const sg::ListedCheckpoint& first = rows.back();
    for (const char* thread : {"w/left", "other/left", "other/left too"}) {
        const sg::CommitRow row{.id = first.id, .parent = {}, .base = first.id, .bytes = first.bytes};
        inner->put({.log = {.thread_id = thread}, .expected_head = {}, .commits = {&row, 1}, .writes = {}});
    }
    saver->read = 0;
    const auto due = flow.flow().dueRuns();
    REQUIRE(due.size() == 1);
    CHECK(due.front().run_id == "left");
    CHECK_FALSE(due.front().at);
    CHECK(saver->read == 1);
}

TEST_CASE("a workflow without a saver has no runs to list") {
    const auto flow = wf::workflow<int>("w").then(wf::step("a", [](const int& n) { return n; })).commit({});
    flow.start("1", 1);
    CHECK(flow.flow().list().empty());
}

TEST_CASE("a run that cannot be read is listed with the reason, and does not hide the others") {
    const Asking asking;
    asking.start("a", 1, "north");
    asking.start("c", 1, "north");
    const sg::CheckpointId id = asking.flow.flow().list().front().checkpoint_id;
    const sg::CommitRow row{.id = id, .parent = {}, .base = id, .bytes = "no commit"};
    asking.saver->put({.log = {.thread_id = "asking/b"}, .expected_head = {}, .commits = {&row, 1}, .writes = {}});
    const auto runs = asking.flow.flow().list();
    REQUIRE(runs.size() == 3);
    CHECK(runs[0].damage.empty());
    CHECK_FALSE(runs[1].damage.empty());
    CHECK(runs[2].damage.empty());
    CHECK(asking.list({.status = {RunStatus::suspended}}) == Ids{"a", "c"});
}
