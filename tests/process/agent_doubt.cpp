// A process dies in a tool that was approved, after the tool's effect and before its result is stored. The next process
// repeats the call, or asks whether it happened, as the tool says; approval must not be requested again.
// NOT WITH: sanitize
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/agent/agent.hpp>
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/rocksdb_saver.hpp>

#include "tests/support/temporary_folder.hpp"

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace fs = std::filesystem;

namespace {

struct Path {
    std::string path = {};
    static constexpr auto fields() { return sg::fields<&Path::path>(); }
};

/// The note of a tool's effect survives its process.
void note(const fs::path& file) {
    const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out < 0 || ::write(out, "x\n", 2) != 2) std::abort();
    ::close(out);
}
int counted(const fs::path& file) {
    std::ifstream in(file);
    int count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
}

agent::Agent helper(const fs::path& folder, sg::OnDoubt on_doubt, bool dies) {
    agent::ToolOptions options;
    options.approval = true;
    options.on_doubt = on_doubt;
    const auto remove = [folder, dies](const Path& at) {
        note(folder / "removed");
        if (dies) ::kill(::getpid(), SIGKILL);
        return at.path + " is gone";
    };
    return agent::Agent({.model = model::scripted({model::assistant({{{}, "c1", "remove", R"({"path":"/tmp/old"})"}}),
                                                   model::assistant("I removed it.")}),
                         .tools = {agent::tool<Path>("remove", options, remove)},
                         .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>((folder / "db").string())}});
}

/// Runs `f` in a child process and returns the status that waitpid reports.
template <class F>
int inChild(F f) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        try {
            ::_exit(f());
        } catch (const std::exception& error) {
            std::cerr << "child: " << error.what() << std::endl;
            ::_exit(1);
        }
    }
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

int fail(const std::string& why) {
    std::cerr << "FAILED: " << why << std::endl;
    return 1;
}

const sg::RunConfig thread{.thread_id = "t"};

/// Leaves a thread whose process died during an approved call.
int dieInTool(const fs::path& folder, sg::OnDoubt on_doubt) {
    const int status = inChild([&] {
        const agent::Agent dying = helper(folder, on_doubt, true);
        dying.say("Tidy up", thread);
        dying.graph().invoke(dying.decide("t", "c1", {.approved = true}), thread);
        return 0;
    });
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) return fail("the process was to die in its tool");
    if (counted(folder / "removed") != 1) return fail("the tool was to run once before its process died");
    return 0;
}

/// Checks that the thread has ended with this result of the call.
int endedWith(const agent::Agent& again, const std::string& result) {
    const auto state = again.graph().getState({.thread_id = "t"});
    if (!state.next.empty()) return fail("the turn has not ended");
    if (state.values.text() != "I removed it.") return fail("the answer is '" + state.values.text() + "'");
    for (const model::Message& message : state.values.messages) {
        if (message.result)
            return message.result->text() == result ? 0 : fail("the result is " + message.result->text());
    }
    return fail("the call has no result");
}

int repeats(const fs::path& folder) {
    if (const int failed = dieInTool(folder, sg::OnDoubt::repeat)) return failed;
    const int status = inChild([&] {
        const agent::Agent again = helper(folder, sg::OnDoubt::repeat, false);
        if (!again.openCalls("t").empty()) return fail("the call was approved, and is open again");
        if (again.graph().recover().size() != 1) return fail("no thread was recovered");
        return endedWith(again, "/tmp/old is gone");
    });
    if (status != 0) return 1;
    return counted(folder / "removed") == 2 ? 0 : fail("the tool was to run a second time");
}

/// `answer` is the reply to the question whether the effect happened.
int asks(const fs::path& folder, const std::string& answer, const std::string& result, int times) {
    if (const int failed = dieInTool(folder, sg::OnDoubt::ask)) return failed;
    const int status = inChild([&] {
        const agent::Agent again = helper(folder, sg::OnDoubt::ask, false);
        again.graph().recover();
        const auto asked = again.graph().getState({.thread_id = "t"}).interrupts();
        if (asked.size() != 1) return fail("there are " + std::to_string(asked.size()) + " questions");
        if (asked[0].value.toJson().find("\"effect\"") == std::string::npos)
            return fail("it asks " + asked[0].value.toJson());
        if (counted(folder / "removed") != 1) return fail("the tool ran before somebody had answered");
        again.graph().invoke(sg::resume(sg::parseJson(answer)), thread);
        return endedWith(again, result);
    });
    if (status != 0) return 1;
    return counted(folder / "removed") == times ? 0 : fail("the tool did not run as often as it was to");
}

}  // namespace

int main() {
    const fs::path base = TemporaryFolder::make();
    for (const char* name : {"repeat", "happened", "again"}) fs::create_directories(base / name);
    const int failed = repeats(base / "repeat") +
                       asks(base / "happened", R"({"result":"it is gone"})", "it is gone", 1) +
                       asks(base / "again", R"("repeat")", "/tmp/old is gone", 2);
    fs::remove_all(base);
    if (failed == 0) std::cout << "no call was approved twice, and what was in doubt was asked\n";
    return failed;
}
