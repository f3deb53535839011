// A support chat that summarises what is long ago and redacts addresses in both directions: `support_chat TEXT` says
// something; without a text it finishes what a dead process has left.
#include <csignal>
#include <fstream>
#include <iostream>

#include <stategraph/agent/agent.hpp>
#include <stategraph/agent/ready_middleware.hpp>
#include <stategraph/model/openai.hpp>
#include <stategraph/rocksdb_saver.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Order {
    std::string order = {};
    static constexpr auto fields() { return sg::fields<&Order::order>(); }
};
std::string refund(const Order& at) {
    std::ofstream("effects.log", std::ios::app) << at.order << std::endl;
    if (std::getenv("DIE")) std::raise(SIGKILL);
    return "refunded " + at.order;
}
auto gpt(const char* name) { return model::openai({.base_url = std::getenv("MODEL_URL"), .model = name}); }

int main(int argc, char** argv) {
    const agent::Agent support({
        .model = gpt("support"),
        .instructions = "You help customers of a shop.",
        .tools = {agent::tool("refund", "Refunds an order", refund)},
        .middleware = {agent::redact(),
                       agent::summarize({.model = gpt("small"), .above_tokens = 60, .keep_messages = 4})},
        .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>("support.db")},
    });
    support.graph().recover();
    if (argc > 1) support.say(argv[1], {.thread_id = "ada"});
    std::cout << support.graph().getState({.thread_id = "ada"}).values.text() << std::endl;
}
