#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include <stategraph/detail/thread_read.hpp>

#include "tests/mcp/serving/served.hpp"
#include "tests/mcp/serving/talk.hpp"
#include "tests/support/gate.hpp"
#include "tests/support/until.hpp"

using namespace mcp_serving;

namespace {

const json::object asks{{"elicitation", json::object()}};

mcp::Server serverOf(std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>(),
                     std::shared_ptr<gates::Gate> gate = {}) {
    mcp::Server server({.name = "test", .version = "3"});
    addTools(server);
    server.add("trip", tripGraph(std::move(saver), std::move(gate)), {.input_channels = {{"city"}}});
    return server;
}

/// The error of an answer.
std::int64_t codeOf(const json::object& answer) { return answer.at("error").at("code").as_int64(); }

}  // namespace

TEST_CASE("a version that both know is agreed on, and another one is answered with the newest that has sessions") {
    for (const std::string version : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
        Talk talk(serverOf());
        const json::object result = talk.initialize(version);
        CHECK(json::value_to<std::string>(result.at("protocolVersion")) == version);
        CHECK(result.at("serverInfo").at("version") == "3");
    }
    Talk talk(serverOf());
    CHECK(talk.initialize("1999-01-01").at("protocolVersion") == "2025-11-25");
    CHECK(codeOf(talk.ask(1, "initialize", {{"protocolVersion", "2025-11-25"}})) == -32600);
}

TEST_CASE("tools are called, and what is wrong with a call is a result for the model or an error of the protocol") {
    Talk talk(serverOf());
    CHECK(codeOf(talk.ask(1, "tools/list")) == -32600);  // before initialize
    talk.initialize();
    CHECK(talk.ask(2, "ping").at("result").as_object().empty());
    CHECK(talk.ask(3, "tools/list").at("result").at("tools").as_array().size() == 5);
    const json::object sum = talk.call(4, "add", {{"a", 2}, {"b", 3}});
    CHECK(textOf(sum) == "5");
    CHECK_FALSE(isError(sum));
    const json::object wrong = talk.call(5, "add", {{"a", "two"}});
    CHECK(isError(wrong));
    CHECK(textOf(wrong).find("b") != std::string::npos);
    const json::object failed = talk.call(6, "fail");
    CHECK(isError(failed));
    CHECK(textOf(failed).find("the disk is full") != std::string::npos);
    CHECK(codeOf(talk.ask(7, "tools/call", {{"name", "nobody"}})) == -32602);
    CHECK(codeOf(talk.ask(8, "tools/call", {{"name", "add"}, {"arguments", 7}})) == -32602);
    CHECK(codeOf(talk.ask(9, "resources/list")) == -32601);
    CHECK(codeOf(talk.ask(10, "server/discover")) == -32601);
}

TEST_CASE("a graph's call names its thread, and another call with that name continues it") {
    Talk talk(serverOf());
    talk.initialize();
    const json::object first = talk.call(1, "trip", {{"city", "Paris"}});
    CHECK(first.at("structuredContent").at("log") == json::array{"looked at Paris", "booked"});
    const std::string thread = threadOf(first);
    const json::object second = talk.call(2, "trip", {{"city", "Oslo"}, {"thread_id", thread}});
    CHECK(second.at("structuredContent").at("log").as_array().size() == 4);
    CHECK(threadOf(second) == thread);
    CHECK(isError(talk.call(3, "trip", {{"log", json::array{"forged"}}})));
    CHECK(isError(talk.call(4, "trip", {{"thread_id", std::string(1000, 'x')}})));
    CHECK(isError(talk.call(5, "trip", {{"resume", 1}})));
    CHECK(isError(talk.call(6, "trip", {{"thread_id", "unknown"}})));
}

TEST_CASE("progress is reported to a client that wants it, and increases") {
    Talk talk(serverOf());
    talk.initialize();
    talk.request(1, "tools/call", {{"name", "count"}, {"_meta", {{"progressToken", "p"}}}});
    double last = -1;
    for (int i = 1; i <= 3; ++i) {
        const json::value told = talk.next();
        REQUIRE(told.at("method") == "notifications/progress");
        CHECK(told.at("params").at("progressToken") == "p");
        CHECK(told.at("params").at("progress").to_number<double>() > last);
        last = told.at("params").at("progress").to_number<double>();
    }
    CHECK(last == 3);
    CHECK(textOf(talk.next().at("result").as_object()) == "counted");
    talk.request(2, "tools/call",
                 {{"name", "trip"}, {"arguments", {{"city", "Paris"}}}, {"_meta", {{"progressToken", 7}}}});
    std::string told;
    json::value message = talk.next();
    for (; message.as_object().contains("method"); message = talk.next())
        told += json::value_to<std::string>(message.at("params").at("message")) + ";";
    CHECK(told.starts_with("thread "));
    CHECK(told.find("looking at Paris;look;book;") != std::string::npos);
}

TEST_CASE("a cancelled call stops its run and gets no answer, and its thread can be continued") {
    const auto gate = std::make_shared<gates::Gate>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    Talk talk(serverOf(saver, gate));
    talk.initialize();
    talk.request(
        1, "tools/call",
        {{"name", "trip"}, {"arguments", {{"city", "Paris"}, {"thread_id", "t"}}}, {"_meta", {{"progressToken", 1}}}});
    while (talk.next().at("params").at("message") != "looking at Paris") {
    }
    talk.notify("notifications/cancelled", {{"requestId", 1}, {"reason", "enough"}});
    talk.notify("notifications/cancelled", {{"requestId", "nobody"}});
    talk.notify("notifications/cancelled", {{"requestId", json::array()}});
    const auto app = tripGraph(saver);
    patience::until([&] { return sg::detail::threadStatus(*app.core(), "t") == sg::Status::cancelled; });
    CHECK(talk.ask(2, "ping").at("id") == 2);  // nothing came before it
    gate->open();
    const json::object result = talk.call(3, "trip", {{"thread_id", "t"}});
    CHECK(result.at("structuredContent").at("log") == json::array{"looked at Paris", "booked"});
}

TEST_CASE("a question is asked by a client that can, and its answer continues the run") {
    Talk talk(serverOf());
    talk.initialize("2025-11-25", asks);
    talk.request(1, "tools/call", {{"name", "trip"}, {"arguments", {{"city", "Rome"}}}});
    json::value question = talk.next();
    REQUIRE(question.at("method") == "elicitation/create");
    CHECK(question.at("params").at("message") == "By train or by plane?");
    CHECK(question.at("params").at("requestedSchema").at("properties").as_object().contains("answer"));
    talk.send({{"jsonrpc", "2.0"},
               {"id", question.at("id")},
               {"result", {{"action", "accept"}, {"content", {{"answer", "train"}}}}}});
    const json::object result = talk.next().at("result").as_object();
    CHECK(result.at("structuredContent").at("log") == json::array{"looked at Rome", "train"});

    // Approvals are asked as yes or no; a person who declines has decided.
    for (const bool is_approved : {true, false}) {
        talk.request(2, "tools/call", {{"name", "remove"}});
        question = talk.next();
        CHECK(question.at("params").at("requestedSchema").at("properties").at("approved").at("type") == "boolean");
        json::object answer{{"action", "decline"}};
        if (is_approved) answer = {{"action", "accept"}, {"content", {{"approved", true}}}};
        talk.send({{"jsonrpc", "2.0"}, {"id", question.at("id")}, {"result", answer}});
        const json::object removed = talk.next().at("result").as_object();
        CHECK(isError(removed) != is_approved);
        CHECK(textOf(removed).find(is_approved ? "removed" : "not approved") != std::string::npos);
    }
}

TEST_CASE("a client that cannot ask gets an error that says how to answer, also one whose person declines") {
    Talk talk(serverOf());
    talk.initialize("2025-03-26", asks);  // a version without elicitation
    const json::object open = talk.call(1, "trip", {{"city", "Rome"}});
    CHECK(isError(open));
    CHECK(textOf(open).find("By train or by plane?") != std::string::npos);
    CHECK(textOf(open).find("\"resume\": ANSWER") != std::string::npos);
    const json::object done = talk.call(2, "trip", {{"thread_id", threadOf(open)}, {"resume", "plane"}});
    CHECK(done.at("structuredContent").at("log") == json::array{"looked at Rome", "plane"});
    CHECK(isError(talk.call(3, "remove")));

    Talk other(serverOf());
    other.initialize("2025-11-25", asks);
    other.request(1, "tools/call", {{"name", "trip"}, {"arguments", {{"city", "Rome"}}}});
    const json::value question = other.next();
    other.send({{"jsonrpc", "2.0"}, {"id", question.at("id")}, {"result", {{"action", "decline"}}}});
    const json::object declined = other.next().at("result").as_object();
    CHECK(isError(declined));
    CHECK(textOf(declined).find("declined") != std::string::npos);
    other.send({{"jsonrpc", "2.0"}, {"id", question.at("id")}, {"result", {{"action", "decline"}}}});  // again
    CHECK(other.ask(2, "ping").at("id") == 2);
}

TEST_CASE("a call that waits for an answer can be cancelled") {
    Talk talk(serverOf());
    talk.initialize("2025-11-25", asks);
    talk.request(1, "tools/call", {{"name", "trip"}, {"arguments", {{"city", "Rome"}, {"thread_id", "t"}}}});
    const json::value question = talk.next();
    talk.notify("notifications/cancelled", {{"requestId", 1}});
    talk.send({{"jsonrpc", "2.0"},
               {"id", question.at("id")},
               {"result", {{"action", "accept"}, {"content", {{"answer", "train"}}}}}});
    CHECK(talk.ask(2, "ping").at("id") == 2);
    const json::object done = talk.call(3, "trip", {{"thread_id", "t"}, {"resume", "plane"}});
    CHECK(done.at("structuredContent").at("log") == json::array{"looked at Rome", "plane"});
}

TEST_CASE("without sessions, a question is the call's result, and the call is repeated with the answers") {
    Talk talk(serverOf());
    const json::object found = talk.ask(1, "server/discover", {{"_meta", modernMeta()}}).at("result").as_object();
    CHECK(found.at("supportedVersions") == json::array{"2026-07-28"});
    CHECK(found.at("resultType") == "complete");
    CHECK(talk.ask(2, "tools/list", {{"_meta", modernMeta()}}).at("result").at("tools").as_array().size() == 5);
    for (const std::string tool : {"trip", "remove"}) {
        const bool is_graph = tool == "trip";
        json::object params{{"name", tool}, {"arguments", json::object()}, {"_meta", modernMeta(asks)}};
        if (is_graph) params["arguments"] = {{"city", "Rome"}};
        const json::object open = talk.ask(3, "tools/call", params).at("result").as_object();
        REQUIRE(open.at("resultType") == "input_required");
        const json::object& requests = open.at("inputRequests").as_object();
        REQUIRE(requests.size() == 1);
        CHECK(requests.begin()->value().at("method") == "elicitation/create");
        params["requestState"] = open.at("requestState");
        // Without an answer it asks again.
        CHECK(talk.ask(4, "tools/call", params).at("result").at("resultType") == "input_required");
        const json::object content = is_graph ? json::object{{"answer", "train"}} : json::object{{"approved", true}};
        params["inputResponses"] = {{requests.begin()->key(), {{"action", "accept"}, {"content", content}}}};
        const json::object done = talk.ask(5, "tools/call", params).at("result").as_object();
        CHECK(done.at("resultType") == "complete");
        CHECK_FALSE(isError(done));
        CHECK(done.at("_meta").at("io.modelcontextprotocol/serverInfo").at("name") == "test");
    }
    json::object forged{{"name", "trip"}, {"_meta", modernMeta(asks)}, {"requestState", "nobody"}};
    CHECK(isError(talk.ask(6, "tools/call", forged).at("result").as_object()));
    json::object meta = modernMeta();
    meta["io.modelcontextprotocol/protocolVersion"] = "2030-01-01";
    const json::object refused = talk.ask(7, "tools/list", {{"_meta", meta}});
    CHECK(codeOf(refused) == -32022);
    CHECK(refused.at("error").at("data").at("supported").at(0) == "2026-07-28");
    meta = modernMeta();
    meta.erase("io.modelcontextprotocol/clientCapabilities");
    CHECK(codeOf(talk.ask(8, "tools/list", {{"_meta", meta}})) == -32602);
}

TEST_CASE("an agent is a tool that takes a message, and its calls that need approval are asked about") {
    const agent::Agent assistant({
        .model = model::scripted({model::assistant({{{}, "c1", "remove", "{}"}}), model::assistant("It is gone.")}),
        .tools = {agent::tool<sg::Value>("remove", {.approval = true}, [](const sg::Value&) { return 1; })},
        .compile = {.checkpointer = std::make_shared<sg::MemorySaver>()},
    });
    mcp::Server server;
    server.add("assistant", assistant, {.description = "Helps"});
    Talk talk(server);
    talk.initialize("2025-11-25", asks);
    talk.request(1, "tools/call", {{"name", "assistant"}, {"arguments", {{"message", "Remove it"}}}});
    const json::value question = talk.next();
    CHECK(question.at("params").at("message") == "May remove be called with {}?");
    talk.send({{"jsonrpc", "2.0"},
               {"id", question.at("id")},
               {"result", {{"action", "accept"}, {"content", {{"approved", true}}}}}});
    CHECK(textOf(talk.next().at("result").as_object()) == "It is gone.");
    CHECK(isError(talk.call(2, "assistant", {{"text", "?"}})));
}

TEST_CASE("a client that leaves stops its calls, and a thread that a process left is continued by its name") {
    const auto gate = std::make_shared<gates::Gate>();
    const auto saver = std::make_shared<sg::MemorySaver>();
    {
        Talk talk(serverOf(saver, gate));
        talk.initialize();
        talk.request(1, "tools/call",
                     {{"name", "trip"},
                      {"arguments", {{"city", "Paris"}, {"thread_id", "t"}}},
                      {"_meta", {{"progressToken", 1}}}});
        while (talk.next().at("params").at("message") != "looking at Paris") {
        }
        talk.leave();
        while (!talk.next().is_null()) {
        }
    }
    gate->open();
    Talk talk(serverOf(saver));
    talk.initialize();
    CHECK(talk.call(1, "trip", {{"thread_id", "t"}}).at("structuredContent").at("log").as_array().size() == 2);
}

TEST_CASE("what is no message is refused, and a line without an end costs no more than the limit") {
    Talk talk(serverOf(), {.message_bytes_max = 1000});
    talk.write("hello\n\n  \n");
    CHECK(codeOf(talk.next().as_object()) == -32700);
    talk.write("[]\n{\"jsonrpc\":\"2.0\"}\n");
    CHECK(codeOf(talk.next().as_object()) == -32600);
    CHECK(codeOf(talk.next().as_object()) == -32600);
    const std::string much(100'000, 'x');
    for (int i = 0; i < 30; ++i) talk.write(much);
    talk.write("\n");
    const json::object refused = talk.next().as_object();
    CHECK(codeOf(refused) == -32700);
    CHECK(json::value_to<std::string>(refused.at("error").at("message")).find("longer than 1000") != std::string::npos);
    talk.write(R"({"jsonrpc":"2.0","method":"ping","id":")" + std::string(500, 'i') + "\"}\n");
    CHECK(codeOf(talk.next().as_object()) == -32600);
    CHECK(talk.initialize().at("protocolVersion") == "2025-11-25");
}

TEST_CASE("a tool with pictures for the model gives them to the client after its text") {
    mcp::Server server;
    server.add(agent::tool<sg::Value>("look", {}, [](const sg::Value&) {
        return stategraph::model::ToolOutput{
            .content = {stategraph::model::Text{"a ball"},
                        stategraph::model::File{.media_type = "image/png", .data = "cG5n"},
                        stategraph::model::File{.media_type = "application/pdf", .data = "cGRm"},
                        stategraph::model::File{.media_type = "image/gif", .url = "https://x/a.gif"}}};
    }));
    Talk talk(server);
    talk.initialize();
    CHECK(talk.call(1, "look").at("content") == json::parse(R"([
        {"type":"text","text":"a ball\n[image/png]\n[application/pdf]\n[image/gif]"},
        {"type":"image","data":"cG5n","mimeType":"image/png"},
        {"type":"resource","resource":{"uri":"stategraph:result","mimeType":"application/pdf","blob":"cGRm"}},
        {"type":"resource_link","uri":"https://x/a.gif","name":"a.gif","mimeType":"image/gif"}])"));
}

TEST_CASE("calls beyond the limit are refused, and so is a second one with the same id") {
    const auto gate = std::make_shared<gates::Gate>();
    mcp::Server server({.calls_max = 2, .result_bytes_max = 2000});
    server.add("trip", tripGraph(nullptr, gate));
    server.add(agent::tool<sg::Value>("large", {}, [](const sg::Value&) { return std::string(5000, 'x'); }));
    Talk talk(server);
    talk.initialize();
    talk.request(1, "tools/call", {{"name", "trip"}, {"arguments", {{"city", "Paris"}}}});
    CHECK(codeOf(talk.ask(1, "tools/call", {{"name", "trip"}})) == -32000);
    talk.request(2, "tools/call", {{"name", "trip"}, {"arguments", {{"city", "Paris"}}}});
    CHECK(codeOf(talk.ask(3, "tools/call", {{"name", "trip"}})) == -32000);
    gate->open();
    CHECK(talk.next().at("result").as_object().contains("structuredContent"));
    CHECK(talk.next().at("result").as_object().contains("structuredContent"));
    const json::object large = talk.call(4, "large");
    CHECK(isError(large));
    CHECK(textOf(large).find("at most 2000") != std::string::npos);
}

TEST_CASE("a client that reads nothing is not read from without end") {
    Talk talk(serverOf(), {.unsent_bytes_max = 10'000});
    talk.initialize();
    // The answers to these are more than its buffers take; the server must wait, and then answer all.
    constexpr std::int64_t count = 20'000;
    std::thread writer([&] {
        for (std::int64_t i = 1; i <= count; ++i) talk.request(i, "ping");
    });
    std::int64_t answers = 0;
    while (answers < count && talk.next().is_object()) ++answers;
    writer.join();
    CHECK(answers == count);
}
