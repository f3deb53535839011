#include <signal.h>

#include <iostream>
#include <memory>

#include "tests/fault/kill/harness.hpp"
#include "tests/fault/kill/open.hpp"
#include "tests/fault/kill/options.hpp"

namespace fault {
namespace {

bool handedOver(const Folder& folder) {
    const auto lines = readJournal(folder.path() / "journal.txt");
    return !lines.empty() && lines.back() == Words{"handed-over"};
}

// Resumes the thread, and drives it to its end in this process.
void finish(const Folder& folder, sg::Durability durability, std::uint64_t seed) {
    Journal journal(folder.path() / "journal.txt", seed);
    const App app = makeApp(openSaver(folder.path()), journal);
    app.invoke(sg::RESUME, {.thread_id = thread_id, .durability = durability, .recursion_limit = 1000});
    drive(app, journal, {.durability = durability});
}

// Returns whether the child stopped in the middle of a run. `pace`: how long a run currently takes, which other work on
// the machine changes.
bool runThread(const Settings& settings, sg::Durability durability, std::uint64_t seed, const Undisturbed& undisturbed,
               std::chrono::duration<double>& pace) {
    std::mt19937_64 random(seed);
    const Folder folder(settings, std::string("term-") + nameOf(durability));
    Watch watch(folder.path(), durability);
    std::vector<std::string> more{"--term"};
    if (random() % 2 == 0) more.push_back("--live");
    Process process(settings.child, childArguments(folder, durability, random(), more));
    process.awaitReady();
    sleepForPartOf(random, 0.9 * pace);
    process.signal(SIGTERM);
    expectDone(process);
    pace *= handedOver(folder) ? 1.02 : 0.9;  // it was faster
    watch.look(random() % 2 == 0);
    // The last event may have been that of the last superstep. Then the round was over when the reader stopped.
    const bool in_the_middle = handedOver(folder) && !watch.stored().next.empty();
    if (watch.stored().has_errors) throw Failure("a task has an error after the hand-over");
    if (handedOver(folder)) finish(folder, durability, random());
    watch.look(false);
    watch.checkFinal(undisturbed.final);
    folder.remove();
    return in_the_middle;
}

}  // namespace

void testSigterm(const Settings& settings) {
    for (const auto durability : settings.durabilities) {
        const auto undisturbed = runUndisturbed(settings, durability, {});
        auto pace = undisturbed.run;
        int threads = 0;
        for (int handed_over = 0; handed_over < settings.kills; ++threads) {
            try {
                handed_over += runThread(settings, durability,
                                         mixed(settings.seed + static_cast<std::uint64_t>(threads)), undisturbed, pace);
            } catch (const std::exception& failure) {
                throw Failure(std::string(nameOf(durability)) + ", thread " + std::to_string(threads) + ": " +
                              failure.what());
            }
            if (threads > 20 * settings.kills + 100) {
                throw Failure(std::string(nameOf(durability)) + ": hardly a run is left in the middle");
            }
        }
        std::cout << nameOf(durability) << ": " << settings.kills << " runs handed over in the middle and finished, of "
                  << threads << std::endl;
    }
}

}  // namespace fault
