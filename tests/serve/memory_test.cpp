#include <doctest/doctest.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <stategraph/agent/memory.hpp>
#include <stategraph/memory_store.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"

using namespace tools;
namespace serve = stategraph::serve;

TEST_CASE("over HTTP a memory is that of who asks, whatever the request says") {
    std::mutex mutex;
    std::vector<std::string> instructions;
    const auto answers = model::scripted([&](const model::Request& request) {
        const std::lock_guard lock(mutex);
        instructions.emplace_back(request.instructions);
        const model::Message& last = request.messages.back();
        const bool remembers = last.role == model::Role::user && last.text().starts_with("remember");
        if (!remembers) return model::assistant("ok");
        return model::assistant({{{}, "1", "remember_fact", R"({"fact":"has a cat","user":"bob"})"},
                                 {{}, "2", "remember_fact", R"({"fact":"has a cat"})"}});
    });
    const agent::Memory memory = agent::memory(
        {.user = [](sg::Runtime& runtime) { return runtime.context<serve::Identity>().name; }, .by_meaning = false});
    const auto store = std::make_shared<sg::MemoryStore>();
    serve::ServerOptions options;
    options.authorize = [](const serve::RequestView& request) {
        return serve::Admission(serve::Identity{.name = std::string(request.header("X-User"))});
    };
    options.owned = true;
    serve::Server server(options);
    server.add("helper", serve::endpoint(agent::Agent(
                             {.model = answers,
                              .tools = memory.tools,
                              .middleware = {memory.recall},
                              .compile = {.checkpointer = std::make_shared<sg::MemorySaver>(), .store = store}})));
    const auto say = [&](const std::string& user, const std::string& thread, const std::string& text) {
        const auto answer = client::post(server.port(), "/helper/" + thread + "/start", R"({"text":")" + text + "\"}",
                                         "X-User: " + user + "\r\n");
        CHECK(answer.status == 200);
        const std::lock_guard lock(mutex);
        return instructions.back();
    };
    say("ada.l@x.example", "a1", "remember it");
    CHECK(say("ada.l@x.example", "a2", "hi").find("has a cat") != std::string::npos);
    CHECK(say("bob", "b1", "hi").empty());
    CHECK(store->search({.namespace_prefix = {"memory", "bob"}}).empty());
    CHECK(store->search({.namespace_prefix = agent::memoryOf("ada.l@x.example")}).size() == 1);
}
