// A conversation that an agent had becomes a test of other models and instructions, for docs/how_to/test_an_agent.md.
//
//   conversation ──recordOf──> record ──replay(other model)──> where it went another way
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/agent/replay.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Order {
    std::string id = {};
    static constexpr auto fields() { return sg::fields<&Order::id>(); }
};

// Stand-ins for a model of today and one that is cheaper: the second asks for another order.
std::shared_ptr<const model::Model> modelThatAsksFor(const std::string& id) {
    return model::scripted([id](const model::Request& request) {
        const model::Message& last = request.messages.back();
        if (last.result) return model::assistant("Your order: " + last.result->text() + ".");
        return model::assistant({{{}, "c1", "status", R"({"id":")" + id + R"("})"}});
    });
}

int main() {
    int calls = 0;
    agent::Options options{
        .model = modelThatAsksFor("A-7"),
        .instructions = "You answer questions about orders.",
        .tools = {agent::tool("status", "Where an order is",
                              [&calls](const Order& order) {
                                  ++calls;
                                  return order.id + " is on its way";
                              })},
        .compile = {.checkpointer = std::make_shared<sg::MemorySaver>()},
    };
    const agent::Agent support(options);
    support.say("Where is my order A-7?", {.thread_id = "ada"});

    // [begin record]
    const agent::Record record = agent::recordOf(support, {.thread_id = "ada"});
    // [end record]
    // [begin replay]
    options.model = modelThatAsksFor("A7");  // or other instructions, tools, middleware
    const agent::Replayed replayed = agent::replay(record, options, {.on_unrecorded = agent::OnUnrecorded::fail});
    for (const agent::Difference& each : replayed.differences) {
        std::cout << "turn " << each.turn << ", step " << each.step << ": other " << toString(each.kind) << "\n  was "
                  << each.recorded << "\n  is  " << each.replayed << '\n';
    }
    // [end replay]
    std::cout << "the tool was called " << calls << " time\n";

    // [begin scores]
    const std::vector<agent::Record> records{record};
    const auto table = agent::scoreReplays(
        records, options,
        {{"calls", agent::sameCalls},
         {"politeness", [](const agent::Replayed& each) {
              return each.turns.back().steps.back().text.find("please") == std::string::npos ? 0.0 : 1.0;
          }}});
    for (std::size_t i = 0; i < table.scorers.size(); ++i)
        std::cout << table.scorers[i] << ": " << table.means[i].value_or(0) << '\n';
    // [end scores]
}
