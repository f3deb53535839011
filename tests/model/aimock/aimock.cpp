// Tests models over HTTP against aimock, a foreign mock of providers' servers: aimock URL. Exits with 0 if everything
// is as it should be.
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/model/anthropic.hpp>
#include <stategraph/model/gemini.hpp>
#include <stategraph/model/openai.hpp>
#include <stategraph/model/responses.hpp>

namespace {

namespace sg = stategraph;
namespace md = stategraph::model;

int failures = 0;

void check(bool is_right, const std::string& what) {
    std::cout << (is_right ? "ok      " : "FAILED  ") << what << "\n";
    failures += !is_right;
}

struct Asked {
    md::Message message;
    std::optional<md::Usage> usage;
    std::string told;
    std::string error;
    int status = 0;
    bool is_retryable = false;
};

Asked ask(const md::Model& model, const std::vector<md::Message>& messages) {
    Asked asked;
    md::Asking asking;
    asking.tell = [&](const md::Delta& delta) {
        if (delta.kind == md::Delta::Kind::text) asked.told += delta.text;
    };
    md::Request request;
    request.messages = messages;
    const std::vector<md::ToolDescription> tools = {
        {.name = "get_weather",
         .description = "The weather",
         .parameters = R"({"type":"object","properties":{"city":{"type":"string"}}})"}};
    request.tools = tools;
    try {
        asked.message = sg::syncWait(model.ask(std::move(request), asking)).message;
    } catch (const md::ModelError& error) {
        asked.error = error.what();
        asked.status = error.status();
        asked.is_retryable = error.isRetryable();
    }
    return asked;
}

std::string thoughtOf(const md::Message& message) {
    for (const md::Part& part : message.content) {
        if (const auto* thought = std::get_if<md::Reasoning>(&part)) return thought->text + "#" + thought->signature;
    }
    return {};
}

/// `impatient` is the same model with an idle limit of 500 ms.
void checkModel(const std::string& name, const md::Model& model, const md::Model& impatient) {
    const Asked hello = ask(model, {md::user("hello")});
    check(hello.message.text() == "Hi there, how are you?", name + " answers: " + hello.message.text() + hello.error);
    check(hello.told == hello.message.text(), name + " tells what it answers");
    check(hello.message.finish_reason == md::FinishReason::stop, name + " says that it is done");
    check(hello.message.usage.has_value(), name + " says what it cost");

    const Asked thinks = ask(model, {md::user("think")});
    check(thoughtOf(thinks.message).starts_with("Let me see.#"), name + " thinks: " + thoughtOf(thinks.message));
    check(thinks.message.text() == "Done.", name + " answers after thinking");
    const Asked after = ask(model, {md::user("think"), thinks.message, md::user("hello")});
    check(after.error.empty(), name + " takes its thoughts back " + after.error);

    std::vector<md::Message> messages = {md::user("weather")};
    const Asked calls = ask(model, messages);
    check(calls.message.calls.size() == 2, name + " wants two calls " + calls.error);
    if (calls.message.calls.size() == 2) {
        check(calls.message.calls[0].arguments == R"({"city":"Oslo"})" &&
                  calls.message.calls[1].arguments == R"({"city":"Rome"})",
              name + " gives the arguments of both");
        messages.push_back(calls.message);
        for (std::size_t i = 0; i < 2; ++i) messages.back().calls[i].id = "ours-" + std::to_string(i);
        const std::vector<md::ToolCall> wanted = messages.back().calls;
        for (const md::ToolCall& call : wanted) messages.push_back(md::toolResult(call, "sunny"));
        const Asked sunny = ask(model, messages);
        check(sunny.message.text() == "Sunny in both.",
              name + " takes the results: " + sunny.message.text() + sunny.error);
    }

    const Asked longer = ask(model, {md::user("long")});
    check(longer.message.finish_reason == md::FinishReason::length,
          name + " says that it was cut off at a limit " + longer.error);
    const Asked cut = ask(model, {md::user("cut")});
    check(!cut.error.empty() && cut.is_retryable, name + " that breaks off is an error: " + cut.error);
    const Asked hangs = ask(impatient, {md::user("hang")});
    check(hangs.error.find("nothing happened for 500 ms") != std::string::npos,
          name + " that hangs is an error: " + hangs.error);
    const Asked fails = ask(model, {md::user("fail")});
    check(fails.status == 503 && fails.is_retryable, name + " that fails is an error: " + fails.error);
    const Asked denied = ask(model, {md::user("denied")});
    check(denied.status == 401 && !denied.is_retryable, name + " that denies is an error: " + denied.error);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: aimock URL\n";
        return 2;
    }
    const std::string url = arguments[1];
    md::HttpOptions http;
    http.idle_limit = std::chrono::minutes(2);
    http.max_retries = 1;
    http.max_retry_wait = std::chrono::milliseconds(1000);
    md::HttpOptions brief = http;
    brief.idle_limit = std::chrono::milliseconds(500);
    const auto openai = [&](const md::HttpOptions& limits) {
        return md::openai({.base_url = url + "/v1", .api_key = "mock", .model = "gpt-4o", .http = limits});
    };
    const auto responses = [&](const md::HttpOptions& limits) {
        return md::openaiResponses({.base_url = url + "/v1", .api_key = "mock", .model = "gpt-5", .http = limits});
    };
    const auto anthropic = [&](const md::HttpOptions& limits) {
        return md::anthropic({.base_url = url, .api_key = "mock", .model = "claude-sonnet-4-5", .http = limits});
    };
    checkModel("OpenAI", *openai(http), *openai(brief));
    checkModel("Responses", *responses(http), *responses(brief));
    const auto gemini = [&](const md::HttpOptions& limits) {
        return md::gemini({.base_url = url + "/v1beta", .api_key = "mock", .model = "gemini-2.5-pro", .http = limits});
    };
    checkModel("Anthropic", *anthropic(http), *anthropic(brief));
    checkModel("Gemini", *gemini(http), *gemini(brief));
    std::cout << (failures == 0 ? "all is as it should be\n" : std::to_string(failures) + " failed\n");
    return failures == 0 ? 0 : 1;
}
