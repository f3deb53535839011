// One turn has fourteen calls of tools, of which five need approval. The process is killed. Another one serves the
// store, and two more answer each call twice at the same time, while the server is killed repeatedly. In the end each
// call must have been executed once.
// NOT WITH: sanitize
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/model/scripted_model.hpp>
#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/serve/client.hpp"
#include "tests/support/temporary_folder.hpp"

namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace serve = stategraph::serve;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

struct Job {
    int number = 0;
    static constexpr auto fields() { return sg::fields(sg::field("number", &Job::number)); }
};

/// One write, so that the note of a tool's effect survives its process.
void note(const std::string& file, int number) {
    const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const std::string line = std::to_string(number) + "\n";
    if (out < 0 || ::write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
    ::close(out);
}

std::map<int, int> counted(const std::string& file) {
    std::map<int, int> count;
    std::ifstream in(file);
    for (int number = 0; in >> number;) ++count[number];
    return count;
}

bool waits(int number) { return number % 3 == 1; }  // 1, 4, 7, 10, 13

agent::Agent gardener(const fs::path& folder) {
    std::vector<model::ToolCall> calls;
    for (int i = 0; i < 14; ++i) {
        calls.push_back(
            {{}, "p" + std::to_string(i), waits(i) ? "gated" : "work", "{\"number\":" + std::to_string(i) + "}"});
    }
    const std::string ledger = (folder / "ledger").string();
    const auto work = [ledger](const Job& job) {
        note(ledger, job.number);
        return "did " + std::to_string(job.number);
    };
    agent::ToolOptions gated;
    gated.approval = true;
    return agent::Agent({.model = model::scripted({model::assistant(calls), model::assistant("done")}),
                         .tools = {agent::tool<Job>("work", {}, work), agent::tool<Job>("gated", gated, work)},
                         .compile = {.checkpointer = std::make_shared<sg::RocksDBSaver>((folder / "db").string())}});
}

template <class F>
pid_t child(F f) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        try {
            f();
        } catch (const std::exception& error) {
            std::cerr << "child: " << error.what() << std::endl;
            ::_exit(1);
        }
        ::_exit(0);
    }
    return pid;
}
int statusOf(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/// Serves the store and writes the port into a file.
void serveStore(const fs::path& folder) {
    serve::Server server;
    server.add("garden", serve::endpoint(gardener(folder)));
    std::ofstream(folder / "port.new") << server.port() << std::endl;
    fs::rename(folder / "port.new", folder / "port");
    server.wait();
}

/// Approves each call until all are decided, whichever process decided them.
void answerAll(const fs::path& folder, bool backwards) {
    std::map<int, bool> decided;
    for (int i = 0; i < 14; ++i) {
        if (waits(i)) decided[i] = false;
    }
    const auto end = std::chrono::steady_clock::now() + 20min;
    for (std::size_t left = decided.size(); left > 0;) {
        if (std::chrono::steady_clock::now() > end) throw std::runtime_error("not all was decided in time");
        for (int at = 0; at < 14; ++at) {
            const int number = backwards ? 13 - at : at;
            if (!waits(number) || decided[number]) continue;
            try {
                int port = 0;
                std::ifstream(folder / "port") >> port;
                const std::string body = "{\"call_id\":\"p" + std::to_string(number) + "\",\"approved\":true}";
                const auto response = client::post(static_cast<std::uint16_t>(port), "/garden/t/decide", body);
                // Either the call is already decided, or another answer is being processed and this one must be
                // repeated.
                const bool is_closed = response.status == 409 &&
                                       response.body.find("waits for a decision or a result") != std::string::npos;
                if (response.status == 200 || is_closed) decided[number] = is_closed;
                if (is_closed) --left;
            } catch (const std::exception&) {      // the server was killed and will be restarted
                std::this_thread::sleep_for(5ms);  // sleeps: between two tries
            }
        }
    }
}

int fail(const std::string& why) {
    std::cerr << "FAILED: " << why << std::endl;
    return 1;
}

}  // namespace

int main() {
    const fs::path folder = TemporaryFolder::make();
    const pid_t first = child([&] {
        const auto result = gardener(folder).say("go", {.thread_id = "t", .durability = sg::Durability::sync});
        if (result.status != sg::Status::interrupted) ::_exit(2);
        ::kill(::getpid(), SIGKILL);
    });
    if (!WIFSIGNALED(statusOf(first))) return fail("the first process was to be killed");
    if (counted((folder / "ledger").string()).size() != 9) return fail("nine calls were to run without leave");

    pid_t server = child([&] { serveStore(folder); });
    const pid_t one = child([&] { answerAll(folder, false); });
    const pid_t other = child([&] { answerAll(folder, true); });
    constexpr int kills = 5;
    for (int kill = 0; kill < kills; ++kill) {
        std::this_thread::sleep_for(60ms);  // sleeps: the moment differs from round to round
        ::kill(server, SIGKILL);
        statusOf(server);
        fs::remove(folder / "port");
        server = child([&] { serveStore(folder); });
    }
    const bool answered = statusOf(one) == 0 && statusOf(other) == 0;
    ::kill(server, SIGKILL);
    statusOf(server);
    if (!answered) return fail("not every call was decided");

    // The last server may have been killed after it stored a decision and before it made the call.
    const auto state = gardener(folder).graph().getState({.thread_id = "t"});
    if (state.values.stop_reason.empty()) gardener(folder).graph().invoke(sg::RESUME, {.thread_id = "t"});
    for (const auto& [number, times] : counted((folder / "ledger").string())) {
        // A call that ran when its process was killed runs again, each time; one whose end is stored must not.
        if (!waits(number) && times != 1)
            return fail("call " + std::to_string(number) + " ran " + std::to_string(times) + " times");
        if (waits(number) && times > 1 + kills + 1)  // the last server was killed too
            return fail("call " + std::to_string(number) + " ran " + std::to_string(times) + " times");
    }
    if (counted((folder / "ledger").string()).size() != 14) return fail("not every call ran");
    int results = 0;
    for (const auto& message : gardener(folder).graph().getState({.thread_id = "t"}).values.messages)
        results += message.result ? 1 : 0;
    if (results != 14) return fail("there are " + std::to_string(results) + " results");
    fs::remove_all(folder);
    std::cout << "each call was executed, and answered once\n";
}
