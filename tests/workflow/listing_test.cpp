#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/workflow/workflow.hpp>

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
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
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
