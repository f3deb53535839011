#include <doctest/doctest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/gate.hpp"

// Responses to decisions, for a page of the AI SDK that shows the calls already, and for one that comes back.
using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

std::string text(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// The calls in a page's message, as the AI SDK builds them from the lines of responses.
struct Page {
    json::array parts;
    std::string texts;
    std::vector<std::string> faults;
    std::set<std::string> begun;  // in the step

    json::object* find(const std::string& call) {
        for (json::value& part : parts) {
            if (text(part.get_object(), "toolCallId") == call) return &part.get_object();
        }
        return nullptr;
    }
    /// Returns the first call of a tool that has a state.
    json::object& at(const std::string& tool, const std::string& state) {
        for (json::value& part : parts) {
            json::object& each = part.get_object();
            if (text(each, "toolName") == tool && text(each, "state") == state) return each;
        }
        FAIL("no call of " << tool << " is " << state << ": " << json::serialize(parts));
        return parts.at(0).as_object();
    }
    std::vector<std::string> states() const {
        std::vector<std::string> all;
        for (const json::value& part : parts)
            all.push_back(text(part.get_object(), "toolName") + " " + text(part.get_object(), "state"));
        return all;
    }
    void take(const client::Response& response) {
        CHECK(response.status == 200);
        for (const json::object& line : response.objects()) take(line);
    }
    void take(const json::object& line) {
        const std::string type = text(line, "type"), id = text(line, "toolCallId");
        json::object* part = find(id);
        if (type == "start-step") begun.clear();
        if (type == "text-delta") texts += text(line, "delta");
        if (type == "tool-input-available" || type == "tool-input-start") {
            if (part != nullptr && !begun.contains(id)) faults.push_back("twice: " + text(line, "toolName"));
            if (part == nullptr) part = &parts.emplace_back(json::object()).as_object();
            begun.insert(id);
            *part = {{"type", "dynamic-tool"}, {"toolCallId", id}, {"toolName", line.at("toolName")}};
            (*part)["input"] = type == "tool-input-start" ? json::value("") : line.at("input");
            (*part)["state"] = type == "tool-input-start" ? "input-streaming" : "input-available";
            if (line.contains("providerExecuted")) (*part)["providerExecuted"] = true;
        } else if (type == "tool-input-delta") {
            if (part == nullptr) return faults.push_back("unknown call: " + type);
            (*part)["input"].as_string() += text(line, "inputTextDelta");
        } else if (type == "tool-approval-response") {
            for (json::value& each : parts) {
                const json::value* const approval = each.as_object().if_contains("approval");
                if (approval == nullptr || approval->at("id") != line.at("approvalId")) continue;
                each.as_object()["approval"].as_object()["approved"] = line.at("approved");
                each.as_object()["state"] = "approval-responded";
            }
        } else if (type == "tool-approval-request" || type.starts_with("tool-output-")) {
            if (part == nullptr) return faults.push_back("unknown call: " + type);
            (*part)["state"] = type == "tool-approval-request" ? "approval-requested" : type.substr(5);
            if (type == "tool-approval-request") (*part)["approval"] = {{"id", line.at("approvalId")}};
        }
    }
    std::string message(const std::string& id) const {
        return json::serialize(json::value{{"id", id}, {"role", "assistant"}, {"parts", parts}});
    }
};

void approve(json::object& part, bool approved = true) {
    part["state"] = "approval-responded";
    part["approval"].as_object()["approved"] = approved;
}
void give(json::object& part) {
    part["state"] = "output-available";
    part["output"] = "here";
}

std::string chat(const std::string& messages, const std::string& more = "") {
    return R"({"id":"t","messages":[)" + messages + R"(],"trigger":"submit-message")" + more + "}";
}
const std::string first_message = R"({"id":"m","role":"user","parts":[{"type":"text","text":"go"}]})";

/// Gives the first answer, and ends when its calls are answered and the gate is open.
std::shared_ptr<const model::Model> late(const std::shared_ptr<gates::Gate>& gate, model::Message first) {
    return model::scripted([gate, first = std::move(first)](const model::Request& request) {
        if (request.messages.back().role == model::Role::user) return first;
        gate->wait();
        return model::assistant("done");
    });
}
std::shared_ptr<const model::Model> late(const std::shared_ptr<gates::Gate>& gate, std::vector<model::ToolCall> calls) {
    return late(gate, model::assistant(std::move(calls)));
}

agent::ToolOptions gated() {
    agent::ToolOptions options;
    options.approval = true;
    return options;
}

struct Served {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    std::shared_ptr<gates::Gate> gate = std::make_shared<gates::Gate>();
    serve::Server server;

    ~Served() { gate->open(); }
    void add(agent::Options options) {
        options.compile = stored();
        server.add("a", serve::endpoint(agent::Agent(std::move(options)), {.protocols = {serve::uiMessages()}}));
    }
    client::Response post(const std::string& body) const { return client::post(server.port(), "/a/chat", body); }
    /// Begins a response, lets a page join it, and returns what both get.
    std::pair<client::Response, client::Response> postAndJoin(const std::string& body) const {
        client::Connection first(server.port());
        first.request("POST", "/a/chat", body);
        client::Response joined = join();
        return {first.read(), std::move(joined)};
    }

private:
    client::Response join() const {
        for (int left = 60'000; left > 0; --left) {
            client::Connection page(server.port());
            page.request("GET", "/a/chat/t/stream");
            client::Response response = page.head();
            if (response.status != 200) {          // the run has not begun
                std::this_thread::sleep_for(5ms);  // sleeps: between two tries
                continue;
            }
            gate->open();
            for (std::string piece = page.chunk(); !piece.empty(); piece = page.chunk()) response.body += piece;
            return response;
        }
        FAIL("no run");
        return {};
    }
};

using States = std::vector<std::string>;
using Faults = std::vector<std::string>;

}  // namespace

TEST_CASE("a page that comes back to the response to its decisions gets the whole message that is continued") {
    Served served;
    bool decides = false;
    SUBCASE("to a result of its own tool") {}
    SUBCASE("to an approval and a refusal, too") { decides = true; }
    std::vector<model::ToolCall> calls{call("c1", "x", "locate"), call("c2", "dig")};
    if (decides) calls.insert(calls.end(), {call("c3", "burn", "gated"), call("c4", "fell", "gated")});
    served.add(
        {.model = late(served.gate, calls),
         .tools = {agent::clientTool<Job>("locate"), work(served.ledger), work(served.ledger, "gated", gated())}});
    Page page;
    page.take(served.post(chat(first_message)));
    give(page.at("locate", "input-available"));
    if (decides) {
        approve(page.at("gated", "approval-requested"));
        approve(page.at("gated", "approval-requested"), false);
    }
    const auto [own, joined] = served.postAndJoin(chat(page.message("a")));
    page.take(own);
    Page other;
    other.take(joined);
    CHECK(page.faults == Faults{});
    CHECK(other.faults == Faults{});
    CHECK(other.states() == page.states());
    CHECK(joined.objects().front() == json::parse(R"({"type":"start","messageId":"a"})"));
    const std::string located = text(page.parts.at(0).as_object(), "toolCallId");
    CHECK(other.find(located)->at("input") == R"({"what":"x"})");
    for (const json::object& line : joined.objects()) {  // with this line the page would execute its tool again
        CHECK((text(line, "type") != "tool-input-available" || text(line, "toolCallId") != located));
    }
}

TEST_CASE("a page that comes back gets the texts, thoughts, files and steps of the message that is continued") {
    Served served;
    served.add({.model = late(served.gate, model::assistant({call("c1", "burn", "gated")})),
                .tools = {work(served.ledger, "gated", gated())}});
    Page page;
    page.take(served.post(chat(first_message)));
    approve(page.at("gated", "approval-requested"));
    const json::array before{{{"type", "step-start"}},
                             {{"type", "reasoning"}, {"text", "hm"}, {"state", "done"}},
                             {{"type", "text"}, {"text", "one"}, {"state", "done"}},
                             {{"type", "text"}, {"text", "two"}},
                             {{"type", "file"}, {"mediaType", "image/png"}, {"url", "https://a/b"}, {"filename", "b"}},
                             {{"type", "source-url"}, {"sourceId", "s"}, {"url", "https://a"}, {"title", "A"}},
                             {{"type", "data-question"}, {"id", "q"}, {"data", {{"x", 1}}}},
                             {{"type", "data-own"}, {"data", 1}},
                             7,
                             {{"type", "dynamic-tool"},
                              {"toolCallId", "w"},
                              {"toolName", "web"},
                              {"state", "output-error"},
                              {"input", "{bad"},
                              {"errorText", "no"},
                              {"providerExecuted", true}}};
    page.parts.insert(page.parts.begin(), before.begin(), before.end());
    const auto [own, joined] = served.postAndJoin(chat(page.message("a")));
    CHECK(own.status == 200);
    std::string shown;
    for (const json::object& line : joined.objects()) shown += json::serialize(line) + "\n";
    const std::string expected = R"({"type":"start","messageId":"a"}
{"type":"start-step"}
{"type":"reasoning-start","id":"reasoning-shown-0"}
{"type":"reasoning-delta","id":"reasoning-shown-0","delta":"hm"}
{"type":"reasoning-end","id":"reasoning-shown-0"}
{"type":"text-start","id":"text-shown-1"}
{"type":"text-delta","id":"text-shown-1","delta":"one"}
{"type":"text-end","id":"text-shown-1"}
{"type":"text-start","id":"text-shown-2"}
{"type":"text-delta","id":"text-shown-2","delta":"two"}
{"type":"text-end","id":"text-shown-2"}
{"type":"file","mediaType":"image/png","url":"https://a/b"}
{"type":"source-url","sourceId":"s","url":"https://a","title":"A"}
{"type":"data-question","id":"q","data":{"x":1}}
{"type":"tool-input-start","toolCallId":"w","toolName":"web","dynamic":true}
{"type":"tool-input-delta","toolCallId":"w","inputTextDelta":"\"{bad\""}
{"type":"tool-output-error","toolCallId":"w","dynamic":true,"providerExecuted":true,"errorText":"no"}
{"type":"tool-input-available",)";
    CHECK(shown.substr(0, expected.size()) == expected);
}

TEST_CASE("of two sub-agents that wait for approvals, the one that is not answered is shown once") {
    Served served;
    served.gate->open();
    const agent::Agent inner(
        {.model = model::scripted({model::assistant({call("i1", "burn", "gated")}), model::assistant("burnt")}),
         .tools = {work(served.ledger, "gated", gated())}});
    const auto ask = [](std::string id) {
        return model::ToolCall{{}, std::move(id), "helper", R"({"request":"burn"})"};
    };
    served.add({.model = late(served.gate, {ask("o1"), ask("o2")}), .tools = {agent::agentTool("helper", {}, inner)}});
    Page page;
    page.take(served.post(chat(first_message)));
    CHECK(page.parts.size() == 4);
    for (int answered = 1; answered <= 2; ++answered) {
        CAPTURE(answered);
        approve(page.at("gated", "approval-requested"));
        page.take(served.post(chat(page.message("a"))));
        CHECK(page.faults == Faults{});
        CHECK(served.ledger->count("burn") == answered);
    }
    for (const std::string& state : page.states()) CHECK(state.ends_with(" output-available"));
}

TEST_CASE("a question that a page decided about is asked again if it is open again") {
    Served served;
    served.gate->open();
    served.add({.model = late(served.gate, {call("c1", "burn", "gated"), call("c2", "fell", "gated")}),
                .tools = {work(served.ledger, "gated", gated())}});
    Page page;
    page.take(served.post(chat(first_message)));
    const std::string undecided = text(page.parts.at(1).as_object(), "toolCallId");
    approve(page.at("gated", "approval-requested"));
    // A page that shows it as decided without having sent a decision.
    page.find(undecided)->at("state") = "approval-responded";
    page.take(served.post(chat(page.message("a"))));
    CHECK(page.faults == Faults{});
    CHECK(page.states() == States{"gated output-available", "gated approval-requested"});
}

TEST_CASE("a page decides about the calls of the message that it names, also if other messages followed") {
    Served served;
    served.gate->open();
    served.add(
        {.model = late(served.gate, {call("c1", "burn", "gated")}), .tools = {work(served.ledger, "gated", gated())}});
    Page page;
    page.take(served.post(chat(first_message)));
    approve(page.at("gated", "approval-requested"));
    const std::string messages =
        page.message("a") + R"(,{"id":"b","role":"assistant","parts":[{"type":"text","text":"meanwhile"}]})";
    CHECK(served.post(chat(messages)).status == 400);
    CHECK(served.post(chat(messages, R"(,"messageId":"b")")).status == 400);
    page.take(served.post(chat(messages, R"(,"messageId":"a")")));
    CHECK(page.faults == Faults{});
    CHECK(served.ledger->count("burn") == 1);
}

TEST_CASE("a result of the provider's own tool that comes after a decision is reported with its call's id") {
    using Kind = model::ProviderPartKind;
    Served served;
    model::Message first = model::assistant({call("c1", "burn", "gated")});
    first.content.emplace_back(model::ProviderPart{Kind::call, "anthropic", "s1", "search", R"({"input":{"q":1}})"});
    model::Message second = model::assistant("done");
    second.content.emplace_back(model::ProviderPart{Kind::result, "anthropic", "s1", "search", R"({"content":"ok"})"});
    served.add(
        {.model = model::scripted({first, second}),
         .tools = {agent::providerTool("search", R"({"type":"search"})"), work(served.ledger, "gated", gated())}});
    Page page;
    page.take(served.post(chat(first_message)));
    approve(page.at("gated", "approval-requested"));
    page.take(served.post(chat(page.message("a"))));
    CHECK(page.faults == Faults{});
    CHECK(page.states() == States{"search output-available", "gated output-available"});
}
