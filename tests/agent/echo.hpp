#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/agent/tools.hpp"

// An agent for tests of messages that are sent while a run is under way.
namespace echoes {

using namespace tools;
using Texts = std::vector<std::string>;

inline Texts told(const std::vector<model::Message>& messages) {
    Texts all;
    for (const model::Message& each : messages) {
        std::string line = each.role == model::Role::user ? "user:" : each.result ? "tool:" : "model:";
        line += each.result ? each.result->text() : each.text();
        if (!each.calls.empty()) line += "[" + each.calls.front().name + "]";
        all.push_back(std::move(line));
    }
    return all;
}

/// An agent that answers "ECHO OF the last message", after a call of a tool for messages that begin with "work". While
/// the tool runs, `meanwhile` is called.
struct Echo {
    std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>();
    std::function<void(const agent::Agent&)> meanwhile = {};
    std::shared_ptr<int> works = std::make_shared<int>(0);

    agent::Agent open() const {
        const auto self = std::make_shared<std::unique_ptr<agent::Agent>>();
        const auto tool = agent::tool<Job>("work", {}, [=, meanwhile = meanwhile, works = works](const Job& job) {
            ++*works;
            if (meanwhile) meanwhile(**self);
            return "did " + job.what;
        });
        const auto answer = [](const model::Request& request) {
            const model::Message& last = request.messages.back();
            if (last.role == model::Role::user && last.text().starts_with("work"))
                return model::assistant({call("c", last.text())});
            return model::assistant("echo of " + (last.result ? last.result->text() : last.text()));
        };
        agent::Agent made({.model = model::scripted(answer), .tools = {tool}, .compile = stored(saver)});
        *self = std::make_unique<agent::Agent>(made);
        kept.push_back(self);
        return made;
    }
    ~Echo() {
        for (const auto& each : kept) each->reset();  // the tool refers to its agent
    }
    mutable std::vector<std::shared_ptr<std::unique_ptr<agent::Agent>>> kept = {};
};

}  // namespace echoes
