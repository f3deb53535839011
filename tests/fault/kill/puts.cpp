#include <signal.h>

#include <algorithm>
#include <iostream>

#include "tests/fault/kill/harness.hpp"
#include "tests/fault/kill/options.hpp"

// One round, which is a run of about 50 nodes, dies at its puts.
namespace fault {
namespace {

struct Case {
    sg::Durability durability;
    bool is_slow;

    std::string name() const { return std::string(nameOf(durability)) + (is_slow ? "-slow" : ""); }
    std::vector<std::string> arguments() const {
        std::vector<std::string> result{"--rounds", "1"};
        if (is_slow) result.push_back("--slow");
        return result;
    }
};

// Returns whether the process died at its put, as requested. If not, it finished without reaching the put.
bool dies(const Settings& settings, const Case& tested, const Folder& folder, const char* where, int put) {
    auto more = tested.arguments();
    more.insert(more.end(), {where, std::to_string(put)});
    Process process(settings.child, childArguments(folder, tested.durability, settings.seed, more));
    const auto ending = process.wait(patience_s);
    if (ending.signal != SIGKILL && ending.code != 0) throw Failure("the child ended with " + ending.text());
    return ending.signal == SIGKILL;
}

// Runs a thread whose first process dies at its `put`th put, and whose second one has to finish. Returns false if there
// is no such put.
bool dieOnce(const Settings& settings, const Case& tested, const Final& undisturbed, const char* where, int put) {
    const Folder folder(settings, tested.name() + where + "-" + std::to_string(put));
    Watch watch(folder.path(), tested.durability);
    const bool died = dies(settings, tested, folder, where, put);
    if (died) {
        watch.look(put % 2 == 0);
        Process process(settings.child, childArguments(folder, tested.durability, settings.seed, tested.arguments()));
        expectDone(process);
    }
    watch.look(false);
    watch.checkFinal(undisturbed);
    folder.remove();
    return died;
}

// Runs a thread whose every process dies after its `put`th put. Returns how many processes it took.
int dieAgainAndAgain(const Settings& settings, const Case& tested, const Final& undisturbed, int put) {
    const Folder folder(settings, tested.name() + "-again");
    Watch watch(folder.path(), tested.durability);
    int processes = 1;
    for (; dies(settings, tested, folder, "--kill-after", put); ++processes) {
        if (processes > 1000)
            throw Failure("processes that die behind their put " + std::to_string(put) + " get nowhere");
        watch.look(processes % 2 == 0);
    }
    watch.look(false);
    watch.checkFinal(undisturbed);
    folder.remove();
    return processes;
}

}  // namespace

void testPuts(const Settings& settings) {
    std::vector<Case> cases;
    for (const auto durability : settings.durabilities) {
        cases.push_back({durability, false});
        if (durability == sg::Durability::async) cases.push_back({durability, true});
    }
    int shift = settings.first;
    for (const auto& tested : cases) {
        try {
            const auto undisturbed = runUndisturbed(settings, tested.durability, tested.arguments());
            int died = 0;
            // With exit a run makes few puts, so more of them are tried.
            const int every =
                tested.durability == sg::Durability::exit ? std::max(1, settings.every / 7) : settings.every;
            for (const char* where : {"--kill-before", "--kill-after"}) {
                // In the short form each case has other puts.
                int put = 1 + shift++ % every;
                for (; dieOnce(settings, tested, undisturbed.final, where, put); put += every) ++died;
            }
            std::cout << tested.name() << ": died at " << died << " puts";
            // With exit a process may need several puts to make progress, because a pause inside a subgraph is stored
            // first.
            if (tested.durability != sg::Durability::exit) {
                std::cout << ", and " << dieAgainAndAgain(settings, tested, undisturbed.final, settings.every)
                          << " processes for one run that dies behind each " << settings.every << ". put of a process";
            }
            std::cout << std::endl;
        } catch (const std::exception& failure) {
            throw Failure(tested.name() + ": " + failure.what());
        }
    }
}

}  // namespace fault
