// A voice's fast loop over a local server: each line of the input is what the user said. The answer is written as the
// model speaks, and a new line interrupts it.
#include <iostream>
#include <thread>

#include <stategraph/agent/agent.hpp>
#include <stategraph/control.hpp>
#include <stategraph/model/openai.hpp>
#include <stategraph/rocksdb_saver.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

int main() {
    const agent::Agent voice({
        .model = model::openai({.base_url = std::getenv("MODEL_URL"), .model = "voice"}),
        .instructions = "You speak.",
        .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>("voice.db")},
    });
    std::jthread speaking;
    for (std::string line; std::getline(std::cin, line);) {
        speaking = std::jthread([&voice, line](const std::stop_token& interrupted) {
            const sg::RunConfig ada{.thread_id = "ada",
                                    .on_busy = sg::OnBusy::wait,
                                    .control = std::make_shared<sg::RunControl>(interrupted)};
            voice.say(line, ada, [](std::string_view piece) { std::cout << piece << std::flush; });
            std::cout << std::endl;
        });
    }
    if (speaking.joinable()) speaking.join();
}
