// What docs/agents.md, agents_middleware.md and models.md show: an agent that asks, a tool whose arguments have a JSON
// Schema, middleware, costs, memory, models of three providers.
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <stategraph/agent/memory.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/model/embeddings.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/schema.hpp>
#include <stategraph/telemetry/otlp_exporter.hpp>

// [begin agent]
#include <stategraph/agent/agent.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;

struct Path {
    std::string path = {};
    static constexpr auto fields() { return sg::fields<&Path::path>(); }
};
// [end agent]

// [begin middleware]
#include <stategraph/agent/ready_middleware.hpp>
// [end middleware]

// [begin providers]
#include <stategraph/model/anthropic.hpp>  // find_package(stategraph COMPONENTS agent model_http)
#include <stategraph/model/gemini.hpp>
#include <stategraph/model/openai.hpp>

// [end providers]
namespace model = stategraph::model;
namespace telemetry = stategraph::telemetry;
using namespace std::chrono_literals;

std::string list(const Path& at) { return at.path + "/old, " + at.path + "/new"; }
std::string removeFile(const Path& at) { return at.path + " is gone"; }

void askFirst() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto model = model::scripted(
        {model::assistant({{{}, "c1", "list", R"({"path":"/tmp"})"}, {{}, "c2", "remove", R"({"path":"/tmp/old"})"}}),
         model::assistant("I removed the old file.")});
    // [begin agent]

    const agent::Agent helper({
        .model = model,
        .instructions = "You keep folders tidy.",
        .tools = {agent::tool<Path>("list", {.description = "Lists a folder"}, list),
                  agent::tool<Path>("remove", {.description = "Removes a file", .approval = true}, removeFile)},
        .compile = {.checkpointer = saver},
    });

    auto result = helper.say("Tidy up /tmp", {.thread_id = "ada"});  // interrupted: it wants to remove something
    for (const agent::OpenCall& call : helper.openCalls("ada"))      // in any process: every call that waits
        std::cout << "may I " << call.tool << " " << call.arguments << "?\n";
    result = helper.graph().invoke(helper.decide("ada", "c2", {.approved = true}), {.thread_id = "ada"});
    std::cout << result.values.text() << " (" << result.values.stop_reason << ")\n";
    // [end agent]
}

void checkBySchema() {
    const std::string text =
        R"({"type":"object","properties":{"city":{"type":"string"},"days":{"default":3}},"required":["city"]})";
    const auto forecast = [](const sg::Value& arguments) { return "sunny: " + arguments.toJson(); };
    // [begin schema]
    // #include <stategraph/schema.hpp>, find_package(stategraph COMPONENTS agent schema)
    const auto weather =
        agent::tool<sg::Value>("weather", {.parameters = text, .check = sg::schemaCheck(text)}, forecast);
    // [end schema]
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({{{}, "c1", "weather", R"({"town":"Rome"})"}}),
                                   model::assistant({{{}, "c2", "weather", R"({"city":"Rome"})"}}),
                                   model::assistant("Sunny.")}),
         .tools = {weather}});
    for (const auto& message : helper.say("How is Rome?").values.messages) {
        if (message.result) std::cout << message.result->text() << "\n";
    }
}

void showsPictures() {
    const std::string png = "iVBORw0KGgo=";
    // [begin pictures]
    const auto look = [png](const Path& page) {
        const model::File picture{.media_type = "image/png", .data = png};             // base64
        return model::ToolOutput{.output = sg::Value("a screenshot of " + page.path),  // is stored
                                 .content = {model::Text{"The page:"}, picture}};      // the model receives it
    };
    const auto screenshot = agent::tool<Path>("screenshot", {.description = "Shows a page"}, look);
    // [end pictures]
    const agent::Agent helper(
        {.model = model::scripted(
             {model::assistant({{{}, "c1", "screenshot", R"({"path":"/"})"}}), model::assistant("It is empty.")}),
         .tools = {screenshot}});
    const model::Message shown = helper.say("What is on the page?").values.messages.at(2);
    std::cout << shown.result->text() << ", with " << shown.content.size() << " parts\n";
}

void optionsOfProviders() {
    // [begin options of providers]
    model::Message book = model::user("A long book.");
    book.content.emplace_back(model::providerOptions("anthropic", R"({"cache_control":{"type":"ephemeral"}})"));
    agent::ToolOptions options;
    options.extra = sg::parseJson(R"({"anthropic":{"cache_control":{"type":"ephemeral"}},"openai":{"strict":true}})");
    // [end options of providers]
    std::cout << book.content.size() << " parts, " << options.extra.as<std::map<std::string, sg::Value>>().size()
              << " formats\n";
}

void toolsOfProviders() {
    // [begin provider tools]
    // Anthropic: an element of `tools`
    const auto search =
        agent::providerTool("web_search", R"({"type":"web_search_20250305","name":"web_search","max_uses":5})");
    // OpenAI's declaration has no "type", so these are members of the body
    const auto other_search = agent::providerTool("web_search", R"({"web_search_options":{}})");
    // [end provider tools]
    std::cout << search.name() << ", " << other_search.name() << "\n";
}

void withMiddleware() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto small = model::scripted({model::assistant("They said hello.")});
    const auto model = model::scripted({model::assistant("Write to ada@example.org.")});
    // [begin middleware]

    const agent::Agent careful({
        .model = model,
        .middleware = {agent::summarize({.model = small, .above_tokens = 20'000}),
                       agent::redact(),
                       agent::budget({.tokens = 200'000}),
                       {.name = "polite",
                        .before_model = [](agent::ModelCall& call) { call.instructions += " Be polite."; }}},
        .compile = {.checkpointer = saver},
    });
    // [end middleware]
    std::cout << careful.say("Who helps me?", {.thread_id = "ada"}).values.text() << "\n";
}

void hearsAnswers() {
    const agent::Agent helper({.model = model::scripted({model::assistant("One word after the other.")})});
    // [begin hear]
    helper.say("How do you speak?", {.thread_id = "ada"},
               [](std::string_view piece) { std::cout << piece << std::flush; });
    std::cout << "\n";
    // [end hear]
}

void accountOfAThread() {
    model::Message answer = model::assistant("It costs nothing to ask.");
    answer.usage = model::Usage{.input_tokens = 1000, .output_tokens = 200};
    const auto model = model::scripted({answer});
    // [begin account]
    const agent::Agent helper({
        .model = model,
        .middleware = {agent::budget({.cost = 0.50})},
        .prices = {{"gpt-5", {.input = 1.25, .output = 10, .cache_read = 0.125}},  // a million tokens
                   {"*", {.input = 0, .output = 0}}},                              // every other model
        .name = "helper",
    });
    const auto result = helper.say("What does it cost?");
    const agent::Account account = helper.account(result.values);
    std::cout << account.turn.totalTokens() << " tokens, " << account.thread_cost->money.text() << "\n";
    // [end account]
}

void memoryOfUsers(const std::string& key) {
    const auto model = model::scripted({model::assistant("Hello again.")});
    // [begin memory]
    // #include <stategraph/agent/memory.hpp>, <stategraph/model/embeddings.hpp>, <stategraph/memory_store.hpp>
    const auto embedder = model::openaiEmbeddings({.api_key = key, .model = "text-embedding-3-small"});
    sg::StoreOptions options;
    options.index = sg::IndexConfig{.dims = 1536, .embed = model::embedWith(embedder), .fields = {"text"}};
    const auto store = std::make_shared<sg::MemoryStore>(options);

    const auto whoAsks = [](sg::Runtime& runtime) { return runtime.context<std::string>(); };
    const agent::Memory memory = agent::memory({.user = whoAsks});
    const agent::Agent helper({
        .model = model,
        .tools = memory.tools,
        .middleware = {memory.recall},
        .compile = {.store = store},
    });
    // [end memory]
    (void)helper;
}

void spansOfAgents() {
    // [begin telemetry]
    // #include <stategraph/telemetry/otlp_exporter.hpp>, find_package(stategraph COMPONENTS agent telemetry)
    const auto exporter = std::make_shared<telemetry::OtlpExporter>(telemetry::OtlpOptions{
        .endpoint = "http://localhost:4318",  // for Langfuse https://cloud.langfuse.com/api/public/otel
        .service_name = "shop",
        .flush_limit = 10ms,
    });
    const agent::Agent helper({
        .model = model::scripted({model::assistant("Hello.")}),
        .compile = {.observer = std::make_shared<sg::SpanObserver>(exporter)},
    });
    // [end telemetry]
    helper.say("Hello");
}

void modelsOfProviders(const std::string& key) {
    // [begin providers]
    const auto gpt = model::openai({.api_key = key, .model = "gpt-5"});  // base_url: any server with this format
    const auto claude = model::anthropic({.api_key = key, .model = "claude-sonnet-4-5", .http = {.idle_limit = 30s}});
    const auto gemini = model::gemini({.api_key = key, .model = "gemini-3-pro"});
    // [end providers]
    std::cout << (gpt != nullptr && claude != nullptr && gemini != nullptr ? "three models" : "none") << "\n";
}

int main() {
    askFirst();
    checkBySchema();
    showsPictures();
    optionsOfProviders();
    toolsOfProviders();
    withMiddleware();
    hearsAnswers();
    accountOfAThread();
    memoryOfUsers("a key");
    spansOfAgents();
    modelsOfProviders("a key");
}
