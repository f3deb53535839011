#include <doctest/doctest.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"

// Responses to decisions, for a page of the AI SDK that shows the calls already, and for one that comes back without
// them.
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
    std::vector<std::string> faults;

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
        if (type == "tool-input-available") {
            if (part != nullptr) faults.push_back("twice: " + text(line, "toolName"));
            if (part == nullptr) part = &parts.emplace_back(json::object()).as_object();
            *part = {{"type", "dynamic-tool"}, {"toolCallId", id}, {"toolName", line.at("toolName")}};
            (*part)["input"] = line.at("input");
            (*part)["state"] = "input-available";
            if (line.contains("providerExecuted")) (*part)["providerExecuted"] = true;
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

void approve(json::object& part) {
    part["state"] = "approval-responded";
    part["approval"].as_object()["approved"] = true;
}
void give(json::object& part) {
    part["state"] = "output-available";
    part["output"] = "here";
}

std::string chat(const std::string& messages, const std::string& more = "") {
    return R"({"id":"t","messages":[)" + messages + R"(],"trigger":"submit-message")" + more + "}";
}
const std::string first_message = R"({"id":"m","role":"user","parts":[{"type":"text","text":"go"}]})";

/// Answers of the model `late` wait until it is open.
class Gate {
public:
    void open() {
        const std::lock_guard lock(mutex_);
        is_open_ = true;
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, 5min, [&] { return is_open_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_open_ = false;
};

/// Asks for the calls, and ends when they are answered and the gate is open.
std::shared_ptr<const model::Model> late(const std::shared_ptr<Gate>& gate, std::vector<model::ToolCall> calls) {
    return model::scripted([gate, calls = std::move(calls)](const model::Request& request) {
        if (request.messages.back().role == model::Role::user) return model::assistant(calls);
        gate->wait();
        return model::assistant("done");
    });
}

agent::ToolOptions gated() {
    agent::ToolOptions options;
    options.approval = true;
    return options;
}

struct Served {
    std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>();
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();
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
            if (response.status != 200) {  // the run has not begun
                std::this_thread::sleep_for(5ms);
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

TEST_CASE("results that a page shows are not reported to a page that comes back without the calls") {
    Served served;
    served.add({.model = late(served.gate, {call("c1", "x", "locate"), call("c2", "dig")}),
                .tools = {agent::clientTool<Job>("locate"), work(served.ledger)}});
    Page page;
    page.take(served.post(chat(first_message)));
    give(page.at("locate", "input-available"));
    const auto [own, joined] = served.postAndJoin(chat(page.message("a")));
    page.take(own);
    CHECK(page.faults == Faults{});
    CHECK(page.states() == States{"locate output-available", "work output-available"});
    Page other;
    other.take(joined);
    CHECK(other.faults == Faults{});
    CHECK(other.parts.empty());
    CHECK(joined.body.find("done") != std::string::npos);
}

TEST_CASE("a page that comes back without a call gets the call before its result, which its own page has") {
    Served served;
    const agent::Agent inner(
        {.model = model::scripted({model::assistant({call("i1", "x", "locate")}), model::assistant("found")}),
         .tools = {agent::clientTool<Job>("locate")}});
    const model::ToolCall ask{{}, "o1", "helper", R"({"request":"look"})"};
    served.add({.model = late(served.gate, {ask}), .tools = {agent::agentTool("helper", {}, inner)}});
    Page page;
    page.take(served.post(chat(first_message)));
    give(page.at("locate", "input-available"));
    const auto [own, joined] = served.postAndJoin(chat(page.message("a")));
    page.take(own);
    CHECK(page.faults == Faults{});
    CHECK(page.states() == States{"helper output-available", "locate output-available"});
    Page other;
    other.take(joined);
    CHECK(other.faults == Faults{});
    CHECK(other.states() == States{"helper output-available"});
    CHECK(other.parts.at(0).at("input") == json::value{{"request", "look"}});
}

TEST_CASE("a page that comes back with the message that approved a call gets the result alone") {
    Served served;
    served.add({.model = late(served.gate, {call("c1", "burn", "gated"), call("c2", "x", "locate")}),
                .tools = {agent::clientTool<Job>("locate"), work(served.ledger, "gated", gated())}});
    Page page;
    page.take(served.post(chat(first_message)));
    approve(page.at("gated", "approval-requested"));
    give(page.at("locate", "input-available"));
    Page other = page;
    const auto [own, joined] = served.postAndJoin(chat(page.message("a")));
    page.take(own);
    other.take(joined);
    for (const Page* each : {&page, &other}) {
        CHECK(each->faults == Faults{});
        CHECK(each->states() == States{"gated output-available", "locate output-available"});
    }
    CHECK(served.ledger->count("burn") == 1);
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
