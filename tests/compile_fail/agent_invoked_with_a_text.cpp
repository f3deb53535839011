// EXPECT: stategraph: an agent is spoken to, agent.say(text, {.thread_id = "A"})
#include <stategraph/agent/agent.hpp>

namespace sg = stategraph;

void run(const sg::agent::Agent& agent) { agent.invoke("What is the weather?", {.thread_id = "A"}); }
