#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/model/scripted_model.hpp>

// The parts from which tests of agents are built.
namespace tools {

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;

/// The arguments of most tools here.
struct Job {
    std::string what = {};
    std::optional<int> times = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("what", &Job::what), sg::field("times", &Job::times));
    }
};

/// Notes what was executed, on all threads.
class Ledger {
public:
    void note(const std::string& what) {
        const std::lock_guard lock(mutex_);
        ++count_[what];
    }
    int count(const std::string& what) const {
        const std::lock_guard lock(mutex_);
        const auto found = count_.find(what);
        return found == count_.end() ? 0 : found->second;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, int> count_;
};

/// Returns a tool that notes what it did, and returns text that says so.
inline agent::Tool work(const std::shared_ptr<Ledger>& ledger, std::string name = "work",
                        agent::ToolOptions options = {}) {
    return agent::tool<Job>(std::move(name), std::move(options), [ledger](const Job& job) {
        ledger->note(job.what);
        return "did " + job.what;
    });
}

/// Returns the options of a tool whose calls need an approval.
inline agent::ToolOptions gated() {
    agent::ToolOptions options;
    options.approval = true;
    return options;
}

/// Returns a call as a model writes it.
inline model::ToolCall call(std::string provider_id, std::string what, std::string name = "work") {
    return {{}, std::move(provider_id), std::move(name), R"({"what":")" + what + R"("})"};
}

inline sg::CompileOptions stored(std::shared_ptr<sg::BaseCheckpointSaver> saver = std::make_shared<sg::MemorySaver>()) {
    sg::CompileOptions options;
    options.checkpointer = std::move(saver);
    return options;
}

/// Returns the results of tools in a conversation, as the model gets them.
inline std::vector<std::string> results(const agent::State& state) {
    std::vector<std::string> all;
    for (const model::Message& message : state.messages) {
        if (message.result) all.push_back(message.result->text());
    }
    return all;
}

}  // namespace tools
