// Tools of a server in an agent: names, approvals, checks, progress, stops, and a process that is killed in between.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/async.hpp>
#include <stategraph/control.hpp>
#include <stategraph/error.hpp>
#include <stategraph/mcp/client.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/sqlite_saver.hpp>

#include "tests/agent/tools.hpp"
#include "tests/mcp/servers.hpp"
#include "tests/support/helper_process.hpp"

namespace {

namespace sg = stategraph;
namespace mcp = stategraph::mcp;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
using namespace std::chrono_literals;
using Members = std::map<std::string, sg::Value>;

const agent::Tool& find(const std::vector<agent::Tool>& tools, const std::string& name) {
    const auto found = std::find_if(tools.begin(), tools.end(), [&](const auto& tool) { return tool.name() == name; });
    REQUIRE(found != tools.end());
    return *found;
}

agent::Agent agentOf(const mcp::Client& client, std::vector<model::ToolCall> calls, mcp::ToolsOptions options = {}) {
    return agent::Agent({.model = model::scripted({model::assistant(std::move(calls)), model::assistant("done")}),
                         .tools = client.tools(std::move(options)),
                         .compile = tools::stored()});
}

model::ToolCall called(std::string tool, std::string arguments) {
    return {{}, "p1", std::move(tool), std::move(arguments)};
}

TEST_CASE("an agent calls the tools of a server, and the model gets structured results, texts and errors") {
    const mcp::Client client = mcp_servers::client();
    const agent::Agent agent = agentOf(
        client, {called("add", R"({"a":1,"b":2})"), called("echo", R"({"text":"hello"})"), called("fail", "{}")});
    const auto result = agent.say("go", {.thread_id = "t"});
    CHECK((result.status == sg::Status::done));
    CHECK(tools::results(result.values) ==
          std::vector<std::string>{R"({"sum":3})", "hello", "Error: the disk is full"});
    CHECK(client.starts() == 1);
}

TEST_CASE("the model receives pictures and other parts of a result, and the text that names them is stored") {
    const mcp::Client client = mcp_servers::client();
    const agent::Agent agent = agentOf(client, {called("picture", "{}")});
    const auto result = agent.say("go", {.thread_id = "t"});
    const model::Message& message = result.values.messages.at(2);
    CHECK(message.result->text() ==
          "a picture:\n[image image/png, 8 bytes of base64, not shown]\nin a\n[resource_link b file:///b]\n[hologram]");
    CHECK(message.content == std::vector<model::Part>{model::Text{"a picture:"},
                                                      model::File{.media_type = "image/png", .data = "aGVsbG8="},
                                                      model::Text{"in a"}, model::Text{"[resource_link b file:///b]"},
                                                      model::Text{"[hologram]"}});
    const agent::Agent limited = agentOf(client, {called("picture", "{}")}, {.files_max = 7});
    const auto cut = limited.say("go", {.thread_id = "t"});
    CHECK(std::get<model::Text>(cut.values.messages.at(2).content.at(1))
              .text.starts_with("[A file of the type image/png"));
}

TEST_CASE("an awaited run calls them in the same way") {
    const mcp::Client client = mcp_servers::client();
    const agent::Agent agent = agentOf(client, {called("echo", R"({"text":"a"})"), called("echo", R"({"text":"b"})")});
    const auto result = sg::syncWait(agent.graph().asyncInvoke(agent::said("go"), {.thread_id = "t"}));
    CHECK(tools::results(result.values) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("tools have the descriptions and schemas of the server, and names with the prefix") {
    const mcp::Client client = mcp_servers::client();
    const std::vector<agent::Tool> tools = client.tools({.prefix = "my.server_", .only = {"echo", "add"}});
    REQUIRE(tools.size() == 2);
    CHECK(tools[0].name() == "my_server_echo");
    const agent::Tool& add = find(tools, "my_server_add");
    CHECK(add.description.description == "Adds two numbers");
    CHECK(sg::parseJson(add.description.parameters).as<Members>().contains("properties"));
    CHECK_FALSE(add.hasOwnNode());
    CHECK_FALSE(add.isForClient());
}

TEST_CASE("names that become equal or too long, and unknown names, are errors that say what to do") {
    CHECK_THROWS_WITH_AS(mcp_servers::client("clash").tools(),
                         "the MCP tools 'a.b' and 'a/b' would both be called 'a_b'; leave one of them out with "
                         "ToolsOptions::only",
                         sg::InvalidArgumentError);
    CHECK(mcp_servers::client("clash").tools({.only = {"a/b"}}).front().name() == "a_b");
    const mcp::Client client = mcp_servers::client();
    CHECK_THROWS_AS(client.tools({.prefix = std::string(64, 'x')}), sg::InvalidArgumentError);
    try {
        client.tools({.only = {"addd"}});
        FAIL("no error");
    } catch (const sg::InvalidArgumentError& error) {
        CHECK(std::string(error.what()).find("'addd', which the MCP server does not have; it has: add, remove, echo") !=
              std::string::npos);
    }
}

TEST_CASE("destructive tools need approval, read-only ones do not, and the caller decides about the others") {
    const mcp::Client client = mcp_servers::client();
    const sg::Value any = sg::parseJson(R"({"text":"x"})");
    std::vector<agent::Tool> tools = client.tools();
    CHECK_FALSE(find(tools, "add").approval(any));
    CHECK(find(tools, "remove").approval(any));
    CHECK_FALSE(find(tools, "echo").approval(any));

    tools = client.tools({.approval = true});
    CHECK_FALSE(find(tools, "add").approval(any));
    CHECK(find(tools, "echo").approval(any));

    tools = client.tools({.approval = [](const sg::Value& v) { return v.as<Members>().at("text") == sg::Value("y"); },
                          .trust_read_only = false});
    CHECK(find(tools, "add").approval(sg::parseJson(R"({"text":"y"})")));
    CHECK_FALSE(find(tools, "echo").approval(any));
    CHECK(find(tools, "remove").approval(any));
}

TEST_CASE("arguments that the schema refuses are not sent, where schemas can be checked") {
    const TemporaryFolder folder;
    const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
    const std::vector<agent::Tool> checked = client.tools();
    if (!find(checked, "add").check) return;  // built without stategraph::schema
    const agent::Agent agent = agentOf(client, {called("remove", R"({"file":1})")});
    const auto result = agent.say("go", {.thread_id = "t"});
    CHECK((result.status == sg::Status::done));
    const std::string text = tools::results(result.values).at(0);
    CHECK(text.starts_with("Error: "));
    CHECK(text.find("path") != std::string::npos);
    CHECK(mcp_servers::linesOf(folder / "notes") == std::vector<std::string>{"started", "initialized"});
    CHECK_FALSE(find(client.tools({.check_arguments = false}), "add").check);
}

TEST_CASE("a tool whose schema cannot be used refuses its calls, and the server's other tools can be used") {
    const mcp::Client client = mcp_servers::client("bad_schemas");
    const std::vector<agent::Tool> tools = client.tools();
    CHECK(tools.size() == 5);
    const bool are_checked = static_cast<bool>(find(tools, "echo").check);  // built with stategraph::schema
    const agent::Agent agent =
        agentOf(client, {called("list", "{}"), called("text", "{}"), called("echo", R"({"text":"hello"})")});
    std::vector<std::string> told = tools::results(agent.say("go", {.thread_id = "t"}).values);
    REQUIRE(told.size() == 3);
    CHECK(told[0] ==
          "Error: the MCP tool 'list' cannot be called, because its JSON Schema cannot be used: it is not a schema of "
          "objects");
    CHECK(told[1].find("it is not a schema of objects") != std::string::npos);
    CHECK(told[2] == "hello");
    if (!are_checked) return;
    CHECK(find(tools, "recursive").description.parameters == R"({"type":"object"})");
    told = tools::results(
        agentOf(client, {called("recursive", "{}"), called("unchecked", "{}")}).say("go", {.thread_id = "u"}).values);
    REQUIRE(told.size() == 2);
    CHECK(told[0].find("leads back to itself") != std::string::npos);
    CHECK(told[1].find("'unevaluatedProperties'") != std::string::npos);
}

TEST_CASE("the progress of a call is an event of the run's stream") {
    const mcp::Client client = mcp_servers::client();
    const agent::Agent agent = agentOf(client, {called("report", "{}")});
    std::vector<sg::Value> reports;
    for (const sg::StreamEvent& event :
         agent.graph().stream(agent::said("go"), {.thread_id = "t"}, {.modes = sg::StreamMode::custom}))
        reports.push_back(event.data);
    REQUIRE(reports.size() == 3);
    const auto report = reports.back().as<Members>();
    CHECK(report.at("tool") == sg::Value("report"));
    CHECK(report.at("progress").as<Members>().at("progress").as<double>() == 3);
    CHECK(report.at("progress").as<Members>().at("message") == sg::Value("part"));
}

TEST_CASE("the end of a call's time is a result for the model") {
    const mcp::Client client = mcp_servers::client();
    const agent::Agent agent = agentOf(client, {called("slow", "{}")}, {.timeout = 20ms});
    const auto result = agent.say("go", {.thread_id = "t"});
    CHECK((result.status == sg::Status::done));
    CHECK(tools::results(result.values).at(0) ==
          "Error: MCP server 'scripted': the tool 'slow' did not answer within 20 ms");
}

TEST_CASE("a run that is stopped cancels its call at the server, for blocking and for awaited runs") {
    for (const bool is_awaited : {false, true}) {
        const TemporaryFolder folder;
        const mcp::Client client = mcp_servers::client({}, {}, folder / "notes");
        const agent::Agent agent = agentOf(client, {called("slow", "{}")});
        const auto control = std::make_shared<sg::RunControl>();
        std::thread stopper([&] {
            helpers::awaitLines(folder / "notes", 3);
            control->requestStop();
        });
        const sg::RunConfig config{.thread_id = "t", .control = control};
        const auto result = is_awaited ? sg::syncWait(agent.graph().asyncInvoke(agent::said("go"), config))
                                       : agent.graph().invoke(agent::said("go"), config);
        stopper.join();
        CHECK((result.status == sg::Status::cancelled));
        helpers::awaitLines(folder / "notes", 4);
        CHECK(mcp_servers::linesOf(folder / "notes").back() == "cancelled 3");
    }
}

TEST_CASE("a server that dies in a call is an error for the model, and the agent continues with a new process") {
    const mcp::Client client = mcp_servers::client();
    const agent::Agent agent =
        agent::Agent({.model = model::scripted({model::assistant({called("die", "{}")}),
                                                model::assistant({called("echo", R"({"text":"again"})")}),
                                                model::assistant("done")}),
                      .tools = client.tools(),
                      .compile = tools::stored()});
    const auto result = agent.say("go", {.thread_id = "t"});
    CHECK((result.status == sg::Status::done));
    const auto results = tools::results(result.values);
    REQUIRE(results.size() == 2);
    CHECK(results[0].starts_with("Error: MCP server 'scripted': the tool 'die' has no answer"));
    CHECK(results[1] == "again");
    CHECK(client.starts() == 2);
}

#if STATEGRAPH_HAS_SQLITE
agent::Agent gardener(const std::string& database, const std::filesystem::path& notes) {
    return agent::Agent({.model = model::scripted(
                             {model::assistant({called("remove", R"({"path":"weeds"})")}), model::assistant("done")}),
                         .tools = mcp_servers::client({}, {}, notes).tools(),
                         .compile = tools::stored(std::make_shared<sg::SqliteSaver>(database))});
}

TEST_CASE("helper: an agent asks for approval and its process is killed" * doctest::skip()) {
    const std::string database = helpers::given("STATEGRAPH_TEST_DATABASE");
    if (database.empty()) return;
    const agent::Agent agent = gardener(database, helpers::given("STATEGRAPH_TEST_NOTES"));
    if (agent.say("go", {.thread_id = "t", .durability = sg::Durability::sync}).status != sg::Status::interrupted)
        ::_exit(2);
    ::kill(::getpid(), SIGKILL);
}

TEST_CASE("an agent whose process was killed before the approval continues in another process, with a new server") {
    const TemporaryFolder folder;
    const std::string database = (folder / "threads.db").string();
    helpers::Helper helper("helper: an agent asks for approval and its process is killed", database, folder / "notes");
    CHECK(helper.wait() == -1);
    // Its server ends by itself, because its standard input has ended.
    helpers::awaitLines(folder / "notes", 3);
    CHECK(mcp_servers::linesOf(folder / "notes") == std::vector<std::string>{"started", "initialized", "ended"});

    const agent::Agent agent = gardener(database, folder / "notes");
    const std::vector<agent::OpenCall> open = agent.openCalls("t");
    REQUIRE(open.size() == 1);
    CHECK(open[0].tool == "remove");
    const auto result = agent.graph().invoke(agent.decide("t", open[0].id, {.approved = true}), {.thread_id = "t"});
    CHECK((result.status == sg::Status::done));
    CHECK(tools::results(result.values) == std::vector<std::string>{"removed weeds"});
    CHECK(mcp_servers::linesOf(folder / "notes").back() == "removed weeds");
}
#endif

}  // namespace
