#include <signal.h>

#include <iostream>

#include "tests/fault/kill/harness.hpp"
#include "tests/fault/kill/options.hpp"

namespace fault {
namespace {

struct Figures {
    int landed = 0;
    int at_start = 0;
    int threads = 0;
    int processes = 0;
    std::size_t repeated = 0;
    // How long a run currently takes, which other work on the machine changes.
    std::chrono::duration<double> pace{};
};

double draw(std::mt19937_64& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

// Drives one thread to its end, while its processes are killed now and then.
void runThread(const Settings& settings, sg::Durability durability, std::uint64_t seed, const Undisturbed& undisturbed,
               Figures& figures) {
    std::mt19937_64 random(seed);
    const Folder folder(settings, std::string(nameOf(durability)) + "-" + std::to_string(figures.threads));
    Watch watch(folder.path(), durability);
    // How this thread's processes run: with a callback, as a range, or with one of the drivers; with a fast saver or
    // with one that is called from another thread.
    std::vector<std::string> more;
    const auto way = random() % 4;
    if (way == 1) more.push_back("--walk");
    if (way == 2) more.push_back("--live");
    if (way == 3) more.insert(more.end(), {"--driver", std::to_string(random() % 1000)});
    if (random() % 2 == 0) more.push_back("--slow");
    for (;;) {
        const bool kills = figures.landed < settings.kills && draw(random) < 0.8;
        const bool at_start = draw(random) < 0.1;
        Process process(settings.child, childArguments(folder, durability, random(), more));
        ++figures.processes;
        if (!kills) {
            expectDone(process);
            break;
        }
        if (at_start) {
            sleepForPartOf(random, undisturbed.startup);
        } else {
            const double left =
                1 - static_cast<double>(watch.stored().step) / static_cast<double>(undisturbed.steps + 1);
            process.awaitReady();
            sleepForPartOf(random, left * figures.pace);
        }
        process.signal(SIGKILL);
        const auto ending = process.wait(patience_s);
        if (ending.signal != SIGKILL) {
            if (ending.code != 0) throw Failure("the child ended with " + ending.text());
            figures.pace *= 0.9;  // it was faster
            break;
        }
        ++figures.landed;
        figures.pace *= 1.01;
        figures.at_start += at_start ? 1 : 0;
        watch.look(random() % 2 == 0);
    }
    watch.look(false);
    watch.checkFinal(undisturbed.final);
    figures.repeated += watch.repeated();
    folder.remove();
}

}  // namespace

void testKills(const Settings& settings) {
    for (const auto durability : settings.durabilities) {
        const auto undisturbed = runUndisturbed(settings, durability, {});
        const auto started = std::chrono::steady_clock::now();
        Figures figures;
        figures.pace = undisturbed.run;
        for (std::uint64_t i = 0; figures.landed < settings.kills; ++i) {
            try {
                runThread(settings, durability, mixed(settings.seed + i), undisturbed, figures);
            } catch (const std::exception& failure) {
                throw Failure(std::string(nameOf(durability)) + ", thread " + std::to_string(i) + ": " +
                              failure.what());
            }
            ++figures.threads;
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
        std::cout << nameOf(durability) << ": " << figures.landed << " kills landed (" << figures.at_start
                  << " at the start), " << figures.threads << " threads, " << figures.processes << " processes, "
                  << figures.repeated << " tasks repeated, " << static_cast<int>(took.count())
                  << " s; an undisturbed run takes " << static_cast<int>(undisturbed.run.count() * 1000) << " ms"
                  << std::endl;
    }
}

}  // namespace fault
