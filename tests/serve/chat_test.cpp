#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include <stategraph/async.hpp>
#include <stategraph/json.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/meanwhile.hpp"

// What a page that uses the AI SDK sends and receives, beyond texts and approvals.
using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;

namespace {

using Texts = std::vector<std::string>;

std::string text(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::vector<json::object> partsOf(const std::vector<json::object>& lines, std::string_view type) {
    std::vector<json::object> parts;
    for (const json::object& line : lines) {
        if (text(line, "type") == type) parts.push_back(line);
    }
    return parts;
}

/// An agent behind a server; its model notes the conversations that it gets, as "ROLE:TEXT" of each message.
class Page {
public:
    explicit Page(std::vector<model::Message> answers, std::vector<agent::Tool> tools = {},
                  sg::CompileOptions compile = stored())
        : answers_(std::move(answers)) {
        const auto answer = [this](const model::Request& request) {
            const std::lock_guard lock(mutex_);
            Texts told;
            for (const model::Message& message : request.messages) {
                told.push_back(message.result ? "tool:" + message.result->text()
                                              : std::string(message.role == model::Role::user ? "user:" : "model:") +
                                                    message.text());
            }
            asked_.push_back(std::move(told));
            last_.assign(request.messages.begin(), request.messages.end());
            return answers_.at(asked_.size() - 1);
        };
        serve::EndpointOptions options;
        options.protocols = {serve::uiMessages(), serve::ownEvents()};
        server_.add("a", serve::endpoint(agent::Agent({.model = model::scripted(answer),
                                                       .tools = std::move(tools),
                                                       .compile = std::move(compile)}),
                                         options));
    }

    client::Response post(const json::value& chat) {
        return client::post(server_.port(), "/a/chat", json::serialize(chat));
    }
    client::Response say(std::string id, std::string words, const char* trigger = "submit-message",
                         std::string edited = "") {
        const json::value part{{"type", "text"}, {"text", words}};
        const json::value message{{"id", id}, {"role", "user"}, {"parts", json::array{part}}};
        json::object chat{{"id", "t"}, {"messages", json::array{message}}, {"trigger", trigger}};
        if (!edited.empty()) chat["messageId"] = edited;
        return post(chat);
    }
    client::Response edit(const std::string& id, std::string words) {
        return say(id, std::move(words), "submit-message", id);
    }
    client::Response send(json::array parts, const char* role = "user") {
        const json::value message{{"id", "m"}, {"role", role}, {"parts", std::move(parts)}};
        return post({{"id", "t"}, {"messages", json::array{message}}, {"trigger", "submit-message"}});
    }
    Texts asked(std::size_t call) const { return asked_.at(call); }
    std::size_t calls() const { return asked_.size(); }
    const std::vector<model::Message>& last() const { return last_; }
    std::uint16_t port() const { return server_.port(); }

private:
    std::vector<model::Message> answers_;
    std::mutex mutex_;
    std::vector<Texts> asked_;
    std::vector<model::Message> last_;
    serve::Server server_;
};

}  // namespace

TEST_CASE("files of the user's message reach the model, as data or by address, before the text") {
    Page page({model::assistant("A cat."), model::assistant("Two.")});
    const auto response = page.send(
        {{{"type", "text"}, {"text", "What is "}},
         {{"type", "file"}, {"mediaType", "image/png"}, {"filename", "a.png"}, {"url", "data:image/png;base64,iVBO"}},
         {{"type", "file"}, {"mediaType", "application/pdf"}, {"url", "https://example.org/a.pdf"}},
         {{"type", "data-note"}, {"data", 7}},
         {{"type", "text"}, {"text", "this?"}}});
    CHECK(response.status == 200);
    REQUIRE(page.last().size() == 1);
    const std::vector<model::Part> expected{model::File{"image/png", "", "iVBO"},
                                            model::File{"application/pdf", "https://example.org/a.pdf", ""},
                                            model::Text{"What is this?"}};
    CHECK(page.last()[0].content == expected);

    const json::value one{{"type", "file"}, {"mediaType", "image/png"}, {"url", "data:image/png;base64,iVBO"}};
    const json::value message{{"id", "n"}, {"role", "user"}, {"parts", json::array{one}}};
    CHECK(page.post({{"id", "u"}, {"messages", json::array{message}}}).status == 200);
    CHECK(page.last().at(0).content == std::vector<model::Part>{model::File{"image/png", "", "iVBO"}});
}

TEST_CASE("files that cannot be read are refused, and nothing is asked") {
    Page page({});
    const auto refused = [&](json::value file) { return page.send({std::move(file)}).status; };
    CHECK(refused({{"type", "file"}, {"url", "data:image/png;base64,iVBO"}}) == 400);
    CHECK(refused({{"type", "file"}, {"mediaType", "image/png"}}) == 400);
    CHECK(refused({{"type", "file"}, {"mediaType", "image/png"}, {"url", "file:///etc/passwd"}}) == 400);
    CHECK(refused({{"type", "file"}, {"mediaType", "image/png"}, {"url", "data:image/png,iVBO"}}) == 400);
    CHECK(refused({{"type", "file"}, {"mediaType", "image/png"}, {"url", "data:"}}) == 400);
    CHECK(page.calls() == 0);
}

TEST_CASE("a client's tool that failed in the page is a failed result for the model") {
    Page page({model::assistant({call("c1", "a", "locate"), call("c2", "b", "locate")}), model::assistant("Sorry.")},
              {agent::clientTool<Job>("locate")});
    const auto inputs = partsOf(page.say("m1", "Where am I?").objects(), "tool-input-available");
    REQUIRE(inputs.size() == 2);
    const auto done = page.send({{{"type", "dynamic-tool"},
                                  {"toolName", "locate"},
                                  {"toolCallId", inputs[0].at("toolCallId")},
                                  {"state", "output-error"},
                                  {"errorText", "no permission"}},
                                 {{"type", "tool-locate"},
                                  {"toolCallId", inputs[1].at("toolCallId")},
                                  {"state", "output-available"},
                                  {"output", "Oslo"}}},
                                "assistant");
    CHECK(done.status == 200);
    CHECK(page.asked(1) == Texts{"user:Where am I?", "model:", "tool:no permission", "tool:Oslo"});
    CHECK(page.last().at(2).result->is_error);
    CHECK(!page.last().at(3).result->is_error);
    const auto errors = partsOf(done.objects(), "tool-output-error");
    REQUIRE(errors.size() == 1);
    CHECK(text(errors[0], "errorText") == "no permission");
}

TEST_CASE("a message that is edited or regenerated is answered anew, and what followed it is forgotten") {
    Page page({model::assistant("One."), model::assistant("Two."), model::assistant("Anew."),
               model::assistant("Other."), model::assistant("Last.")});
    page.say("m1", "first");
    page.say("m2", "second");
    CHECK(page.asked(1) == Texts{"user:first", "model:One.", "user:second"});
    SUBCASE("regenerated") {
        CHECK(page.say("m2", "second", "regenerate-message").status == 200);
        CHECK(page.asked(2) == page.asked(1));
        page.say("m3", "third");
        CHECK(page.asked(3) == Texts{"user:first", "model:One.", "user:second", "model:Anew.", "user:third"});
    }
    SUBCASE("edited, with an earlier one") {
        page.edit("m1", "changed");
        CHECK(page.asked(2) == Texts{"user:changed"});
        page.say("m3", "third");
        CHECK(page.asked(3) == Texts{"user:changed", "model:Anew.", "user:third"});
    }
    SUBCASE("sent like a new one with the same id: it is the same turn; with another id or text it is another") {
        page.say("m2", "second");
        page.say("m9", "second");
        CHECK(page.asked(2) == Texts{"user:first", "model:One.", "user:second", "model:Two.", "user:second"});
        page.say("m1", "third");
        CHECK(page.asked(3).size() == 7);
        CHECK(page.asked(3).back() == "user:third");
    }
    const auto history = client::get(page.port(), "/a/t/history");
    CHECK(history.body.find("Two.") != std::string::npos);  // earlier checkpoints keep it
}

TEST_CASE("a message is refused if another process changes the conversation while the server reads it") {
    const auto store = std::make_shared<sg::MemorySaver>();
    const auto through = std::make_shared<Meanwhile>(store);
    Page page({model::assistant("One."), model::assistant("Two."), model::assistant("Anew.")}, {},
              {.checkpointer = through});
    Page other({model::assistant("Elsewhere."), model::assistant("Again.")}, {}, {.checkpointer = store});
    // On a busy machine the response has begun before the run is refused.
    const auto isRefused = [](const client::Response& response) {
        return response.status == 409 || client::tellsFailure(response);
    };
    through->after_read = [&] { CHECK(other.say("m1", "begun").status == 200); };
    CHECK(isRefused(page.say("m1", "first")));
    CHECK(page.say("m2", "second").status == 200);
    CHECK(page.asked(0) == Texts{"user:begun", "model:Elsewhere.", "user:second"});
    through->after_read = [&] { CHECK(other.say("m3", "third").status == 200); };
    CHECK(isRefused(page.say("m2", "second", "regenerate-message")));
    CHECK(page.calls() == 1);
    CHECK(page.say("m2", "second", "regenerate-message").status == 200);
    CHECK(page.asked(1) == Texts{"user:begun", "model:Elsewhere.", "user:second"});
}

TEST_CASE("a message without an id in the conversation is regenerated if it is the last one") {
    Page page({model::assistant("One."), model::assistant("Anew."), model::assistant("More.")});
    client::post(page.port(), "/a/t/start?protocol=ui", R"({"text":"first"})");
    page.say("m1", "first", "regenerate-message");
    CHECK(page.asked(1) == Texts{"user:first"});
    page.say("m2", "other", "regenerate-message");
    CHECK(page.asked(2) == Texts{"user:first", "model:Anew.", "user:other"});
}

TEST_CASE("a message that is edited while calls of its turn wait cancels them, and no id reaches other messages") {
    const auto ledger = std::make_shared<Ledger>();
    agent::ToolOptions gated;
    gated.approval = true;
    Page page({model::assistant({call("c1", "burn", "gated")}), model::assistant("Fine."), model::assistant("Hm.")},
              {work(ledger, "gated", gated)});
    const auto asked = partsOf(page.say("m1", "burn it").objects(), "tool-approval-request");
    REQUIRE(asked.size() == 1);
    CHECK(page.edit("m1", "leave it").status == 200);
    CHECK(page.asked(1) == Texts{"user:leave it"});
    const json::value late{{"call_id", asked[0].at("toolCallId")}, {"approved", true}};
    CHECK(client::post(page.port(), "/a/t/decide", json::serialize(late)).status == 409);
    CHECK(ledger->count("burn") == 0);
    // The id of the model's answer is not one that a client can name.
    const auto state = json::parse(client::get(page.port(), "/a/t/state").body);
    const auto& messages = state.at("values").at("messages").as_array();
    REQUIRE(messages.size() == 2);
    page.edit(text(messages[1].as_object(), "id"), "overwritten?");
    CHECK(page.asked(2) == Texts{"user:leave it", "model:Fine.", "user:overwritten?"});
    CHECK(page.say(std::string(300, 'x'), "too long").status == 400);
}

TEST_CASE("an agent that stores nothing answers chats too") {
    Page page({model::assistant("One.")}, {}, {});
    CHECK(page.say("m1", "first").status == 200);
    CHECK(page.asked(0) == Texts{"user:first"});
}

TEST_CASE("the end of the UI message stream says why the model stopped") {
    const auto reason = [](std::vector<model::Message> answers, std::vector<agent::Tool> tools = {}) {
        Page page(std::move(answers), std::move(tools));
        return text(page.say("m1", "go").objects().back(), "finishReason");
    };
    CHECK(reason({model::assistant("Done.")}) == "stop");
    auto cut = model::assistant("Do");
    cut.finish_reason = model::FinishReason::length;
    CHECK(reason({cut}) == "length");
    cut.finish_reason = model::FinishReason::content_filter;
    CHECK(reason({cut}) == "content-filter");
    const auto ledger = std::make_shared<Ledger>();
    CHECK(reason({model::assistant({call("c1", "a")}), model::assistant("Done.")}, {work(ledger)}) == "stop");
    CHECK(reason({model::assistant({call("c1", "a", "locate")})}, {agent::clientTool<Job>("locate")}) == "tool-calls");
    CHECK(reason({}) == "error");
}

TEST_CASE("arguments that are not JSON are shown as the model wrote them") {
    Page page(
        {model::assistant({{{}, "c1", "work", "{\"what\":"}, {{}, "c2", "work", " "}}), model::assistant("Done.")},
        {work(std::make_shared<Ledger>())});
    const auto lines = page.say("m1", "go").objects();
    const auto inputs = partsOf(lines, "tool-input-available");
    REQUIRE(inputs.size() == 2);
    CHECK(inputs[0].at("input") == json::value("{\"what\":"));
    CHECK(inputs[1].at("input") == json::value(json::object()));
    CHECK(partsOf(lines, "tool-output-error").size() == 2);
}

namespace {

/// A model that breaks off twice, each time after some pieces.
class Shaky final : public model::Model {
public:
    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        model::Reply reply;
        reply.message = request.messages.size() > 1 ? model::assistant("The end.") : model::assistant("at last");
        if (request.messages.size() > 1) {
            asking.tell({.text = "The end."});
            co_return reply;
        }
        const int attempt = ++attempts_;
        const model::ProviderPart source{model::ProviderPartKind::source, "anthropic", "", "",
                                         R"({"url":"https://a"})"};
        asking.tell({.kind = model::Delta::Kind::reasoning, .text = "hm"});
        asking.tell({.text = attempt < 3 ? "at l" : "at last"});
        asking.tell({.kind = model::Delta::Kind::provider, .part = &source});
        asking.tell({.kind = model::Delta::Kind::call, .call = 0, .name = "work"});
        asking.tell({.kind = model::Delta::Kind::arguments, .text = R"({"what":)", .call = 0});
        if (attempt < 3) throw model::ModelError("overloaded", {.status = 503, .is_retryable = true});
        asking.tell({.kind = model::Delta::Kind::arguments, .text = R"("dig"})", .call = 0});
        reply.message.content.emplace_back(source);
        reply.message.calls = {call("c1", "dig")};
        co_return reply;
    }

private:
    mutable std::atomic<int> attempts_ = 0;
};

/// What a page shows after these lines: the parts of each step, of which a reset takes back the last step's.
Texts shown(const std::vector<json::object>& lines) {
    Texts parts;
    std::size_t step = 0;
    for (const json::object& line : lines) {
        const std::string type = text(line, "type");
        if (type == "start-step") step = parts.size();
        if (type == "reset-step") parts.resize(step);
        if (type == "text-start" || type == "reasoning-start") parts.push_back(type.substr(0, type.find('-')) + ":");
        if (type == "text-delta" || type == "reasoning-delta") parts.back() += text(line, "delta");
        if (type == "source-url") parts.push_back(text(line, "url"));
        if (type == "tool-input-start") parts.push_back(text(line, "toolName") + ":");
        if (type == "tool-input-delta") parts.back() += text(line, "inputTextDelta");
    }
    return parts;
}

}  // namespace

TEST_CASE("pieces of an answer that broke off are taken back from the page before the next attempt's come") {
    agent::Options options{.model = std::make_shared<const Shaky>(), .tools = {work(std::make_shared<Ledger>())}};
    options.retry = sg::RetryPolicy{.max_attempts = 3, .initial_interval = std::chrono::milliseconds(1)};
    options.compile = stored();
    serve::Server server;
    serve::EndpointOptions served;
    served.protocols = {serve::uiMessages({.resets_steps = true})};
    server.add("a", serve::endpoint(agent::Agent(options), served));
    const auto lines = client::post(server.port(), "/a/t/start", R"({"text":"go"})").objects();
    CHECK(partsOf(lines, "reset-step").size() == 2);
    CHECK(shown(lines) ==
          Texts{"reasoning:hm", "text:at last", "https://a", R"(work:{"what":"dig"})", "text:The end."});
    // No text is left open by a reset, and none is ended that is not open.
    Texts open;
    for (const json::object& line : lines) {
        const std::string type = text(line, "type");
        if (type == "reset-step") open.clear();
        if (type.ends_with("-start") && type.starts_with("te")) open.push_back(text(line, "id"));
        if (type == "text-end") CHECK(std::erase(open, text(line, "id")) == 1);
    }
    CHECK(open.empty());
    CHECK(partsOf(lines, "tool-input-available").size() == 1);
    CHECK(partsOf(lines, "tool-output-available").size() == 1);
}

TEST_CASE("texts that are written at the same time are whole parts of one step, and a lone one has its own step") {
    const auto encoder = serve::uiMessages().encoder();
    std::vector<std::string> lines;
    const auto tell = [&](std::string id, std::string content, int attempt = 1) {
        sg::HubEvent event;
        event.mode = sg::StreamMode::messages;
        const agent::Piece piece{.id = std::move(id), .content = std::move(content)};
        const std::map<std::string, sg::Value> data{
            {"delta", sg::Value(true)}, {"attempt", sg::Value(attempt)}, {"message", sg::Value(piece)}};
        event.data = sg::Value(data);
        encoder->take(event, lines);
    };
    const auto end = [&](std::string id) {
        sg::HubEvent event;
        event.mode = sg::StreamMode::updates;
        event.node = "model";
        model::Message message = model::assistant("");
        message.id = std::move(id);
        const std::map<std::string, std::map<std::string, std::vector<model::Message>>> data{
            {"model", {{"messages", {message}}}}};
        event.data = sg::Value(data);
        encoder->take(event, lines);
    };
    tell("a", "one");
    end("a");
    tell("b", "He");
    tell("c", "Wo");
    tell("b", "llo");
    tell("c", "x", 2);  // what another text shares the step with cannot be taken back
    tell("c", "rld", 2);
    end("b");
    tell("d", "an");
    tell("d", "on", 2);
    end("c");
    end("d");
    tell("e", "last");
    encoder->close({}, lines);
    Texts told;
    for (const std::string& line : lines) {
        const json::object part = json::parse(line).as_object();
        told.push_back(text(part, "type") + " " + text(part, "id") + text(part, "delta"));
    }
    CHECK(told == Texts{"start-step ",         "text-start text-a",    "text-delta text-aone",
                        "text-end text-a",     "finish-step ",         "start-step ",
                        "text-start text-b",   "text-delta text-bHe",  "text-start text-c",
                        "text-delta text-cWo", "text-delta text-bllo", "text-end text-c",
                        "text-start text-c",   "text-delta text-cx",   "text-delta text-crld",
                        "text-end text-b",     "text-start text-d",    "text-delta text-dan",
                        "text-end text-d",     "text-start text-d",    "text-delta text-don",
                        "text-end text-c",     "text-end text-d",      "finish-step ",
                        "start-step ",         "text-start text-e",    "text-delta text-elast",
                        "text-end text-e",     "finish-step ",         "finish "});
}
