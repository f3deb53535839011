// An agent with tools and approval, for docs/tutorials/agent.md. The question and its answer are two processes:
//
//     ./agent ask "Tidy up the desk"      ./agent waiting      ./agent approve CALL      ./agent refuse CALL REASON
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/rocksdb_saver.hpp>

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

// [begin arguments]
struct Folder {
    std::string path = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("path", &Folder::path, sg::describe("Of the folder, such as /desk")));
    }
};
struct File {
    std::string path = {};
    static constexpr auto fields() { return sg::fields<&File::path>(); }
};
// [end arguments]

// [begin model]
// Answers from a script, so that this program needs no key and prints the same each time. A real one is
// model::openai({.api_key = key, .model = "gpt-5"}), from stategraph/model/openai.hpp.
std::shared_ptr<const model::Model> makeModel() {
    return model::scripted({model::assistant({{{}, "c1", "list", R"({"path":"/desk"})"}}),
                            model::assistant({{{}, "c2", "remove", R"({"path":"/desk/old.txt"})"}}),
                            model::assistant("The desk is tidy.")});
}
// [end model]

// [begin agent]
agent::Agent makeAgent() {
    return agent::Agent({
        .model = makeModel(),
        .instructions = "You keep folders tidy. Look before you remove.",
        .tools = {agent::tool<Folder>("list", {.description = "Lists a folder"},
                                      [](const Folder& at) {
                                          return std::vector<std::string>{at.path + "/new.txt", at.path + "/old.txt"};
                                      }),
                  agent::tool<File>("remove", {.description = "Removes a file", .approval = true},
                                    [](const File& file) {
                                        std::cout << "(removing " << file.path << ")\n";
                                        return file.path + " is gone";
                                    })},
        .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>("agent.db")},
    });
}
// [end agent]

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string command = arguments.empty() ? "waiting" : arguments[0];
    const agent::Agent helper = makeAgent();
    const sg::RunConfig thread{.thread_id = "desk"};

    // [begin commands]
    if (command == "ask") {
        const auto result = helper.say(arguments.at(1), thread);
        std::cout << result.status << "\n";
    } else if (command == "waiting") {
        for (const agent::OpenCall& call : helper.openCalls("desk"))
            std::cout << call.id << ": may I " << call.tool << " " << call.arguments << "?\n";
    } else {
        const bool is_approved = command == "approve";
        const auto decision = is_approved ? helper.decide("desk", arguments.at(1), {.approved = true})
                                          : helper.decide("desk", arguments.at(1), {.reason = arguments.at(2)});
        const auto result = helper.graph().invoke(decision, thread);
        std::cout << result.status << ": " << result.values.text() << "\n";
        // [end commands]
        // [begin conversation]
        for (const model::Message& message : result.values.messages) {
            for (const model::ToolCall& call : message.calls)
                std::cout << "  calls " << call.name << call.arguments << "\n";
            if (message.result) std::cout << "  result: " << message.result->text() << "\n";
        }
        // [end conversation]
    }
}
