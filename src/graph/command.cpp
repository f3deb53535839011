#include <stategraph/command.hpp>

namespace stategraph {

Send::Send(std::string node, const char* payload) : Send(std::move(node), std::string(payload)) {}

Targets::Targets(std::initializer_list<Target> targets) : targets_(targets) {}
void Targets::add(Target target) { targets_.push_back(std::move(target)); }

Command<> resume(std::vector<Answer> answers) {
    Command<> command;
    command.answers = std::move(answers);
    return command;
}

Command<> go(Targets to) {
    Command<> command;
    command.go_to = std::move(to);
    return command;
}

}  // namespace stategraph
