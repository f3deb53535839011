// An agent in a user's project; served where the package has the server.
#include <stategraph/agent/agent.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>
#if HAS_SCHEMA
#include <stategraph/schema.hpp>
#endif
#if HAS_SERVE
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#endif

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

struct Number {
    int n = 0;
    static constexpr auto fields() { return sg::fields<&Number::n>(); }
};

int main() {
#if HAS_SCHEMA
    if (sg::schemaCheck(R"({"properties":{"n":{"default":2}}})")(sg::parseJson("{}")).as<Number>().n != 2) return 3;
#endif
    const agent::Agent helper(
        {.model = model::scripted({model::assistant({{{}, "c", "twice", R"({"n":2})"}}), model::assistant("four")}),
         .tools = {agent::tool<Number>("twice", {}, [](const Number& number) { return 2 * number.n; })},
         .compile = {.checkpointer = std::make_shared<sg::MemorySaver>()}});
#if HAS_SERVE
    stategraph::serve::Server server;
    server.add("helper", stategraph::serve::endpoint(helper));
    if (server.port() == 0) return 2;
#endif
    return helper.say("go", {.thread_id = "t"}).values.text() == "four" ? 0 : 1;
}
