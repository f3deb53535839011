#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "serve/shown_message.hpp"
#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"

// What a page of the AI SDK receives is chosen by the options of its protocol.
using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;

namespace {

/// Thinks, reads a source and calls a tool that fails; then it fails itself. Says so in pieces, if it `tells`.
class Thinker final : public model::Model {
public:
    explicit Thinker(bool tells) : tells_(tells) {}
    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        if (request.messages.back().role == model::Role::tool) throw std::runtime_error("secret of the model");
        const model::ProviderPart source{model::ProviderPartKind::source, "openai", "", "", R"({"url":"https://a"})"};
        model::Reply reply;
        reply.message = model::assistant({call("c1", "dig")});
        reply.message.content = {model::Reasoning{"hm", ""}, model::Text{"I look."}, source};
        if (tells_) {
            asking.tell({.kind = model::Delta::Kind::reasoning, .text = "hm"});
            asking.tell({.text = "I look."});
            asking.tell({.kind = model::Delta::Kind::provider, .part = &source});
            asking.tell({.kind = model::Delta::Kind::call, .call = 0, .name = "work"});
            asking.tell({.kind = model::Delta::Kind::arguments, .text = R"({"what":"dig"})", .call = 0});
        }
        co_return reply;
    }

private:
    const bool tells_;
};

std::vector<json::object> linesWith(serve::UiMessagesOptions options, bool tells) {
    const auto fails = [](const Job&) -> std::string { throw std::runtime_error("secret of the tool"); };
    serve::ServerOptions shows;
    shows.show_errors = true;
    serve::Server server(shows);
    server.add("a", serve::endpoint(agent::Agent({.model = std::make_shared<const Thinker>(tells),
                                                  .tools = {agent::tool<Job>("work", {}, fails)},
                                                  .compile = stored()}),
                                    {.protocols = {serve::uiMessages(std::move(options))}}));
    return client::post(server.port(), "/a/t/start", R"({"text":"go"})").objects();
}

/// What lines have: their types, and their texts.
struct Seen {
    std::vector<std::string> types;
    std::string all;
    bool has(std::string_view text) const { return all.find(text) != std::string::npos; }
};

Seen seenIn(const std::vector<json::object>& lines) {
    Seen seen;
    for (const json::object& line : lines) {
        seen.types.emplace_back(line.at("type").as_string());
        seen.all += json::serialize(line) + "\n";
    }
    return seen;
}

}  // namespace

TEST_CASE("a page receives dynamic tools, thoughts, sources and errors, unless the options leave them out") {
    for (const bool tells : {false, true}) {
        CAPTURE(tells);
        const Seen whole = seenIn(linesWith({}, tells));
        for (const char* text : {R"("dynamic":true)", "reasoning-delta", "source-url", "secret of the tool",
                                 "secret of the model", "I look.", R"("toolCallId":)"}) {
            CAPTURE(text);
            CHECK(whole.has(text));
        }
        const auto lines = linesWith({.typed_tools = true,
                                      .reasoning = false,
                                      .sources = false,
                                      .error_text = [](const std::string&) { return std::string("It failed."); },
                                      .account = false},  // counts reasoning too
                                     tells);
        const Seen less = seenIn(lines);
        for (const char* text : {"dynamic", "reasoning", "hm", "source-url", "https://a", "secret"}) {
            CAPTURE(text);
            CHECK_FALSE(less.has(text));
        }
        CHECK(less.has("I look."));
        std::vector<std::string> failures;
        for (const json::object& line : lines) {
            if (const json::value* const text = line.if_contains("errorText")) {
                failures.push_back(std::string(line.at("type").as_string()) + ": " + std::string(text->as_string()));
            }
        }
        CHECK(failures == std::vector<std::string>{"tool-output-error: It failed.", "error: It failed."});
        // The lines are otherwise the same.
        std::vector<std::string> expected;
        for (const std::string& type : whole.types) {
            if (!type.starts_with("reasoning") && type != "source-url") expected.push_back(type);
        }
        CHECK(less.types == expected);
    }
}

TEST_CASE("a function for the texts of errors that throws gives no details away") {
    const Seen seen = seenIn(
        linesWith({.error_text = [](const std::string&) -> std::string { throw std::runtime_error("no"); }}, false));
    CHECK_FALSE(seen.has("secret"));
    CHECK(seen.has(R"("errorText":"An error occurred.")"));
}

TEST_CASE("a message that a page reconnects to has typed parts where the page has them") {
    for (const bool is_typed : {false, true}) {
        for (const char* state : {"input-available", "output-available", "output-error"}) {
            json::object part{{"toolCallId", "c1"},
                              {"state", state},
                              {"input", {{"what", "dig"}}},
                              {"output", 1},
                              {"errorText", "no"}};
            part["type"] = is_typed ? "tool-work" : "dynamic-tool";
            if (!is_typed) part["toolName"] = "work";
            bool has_call = false;
            for (const std::string& text : serve::linesOf({{"id", "m"}, {"parts", json::array{part}}})) {
                CAPTURE(text);
                const json::object line = json::parse(text).as_object();
                if (!line.contains("toolCallId") || line.contains("inputTextDelta")) continue;
                CHECK(line.contains("dynamic") == !is_typed);
                if (const json::value* const name = line.if_contains("toolName")) has_call = *name == "work";
            }
            CHECK(has_call);
        }
    }
}
