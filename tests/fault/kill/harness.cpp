#include "tests/fault/kill/harness.hpp"

#include <thread>

#include "tests/fault/kill/options.hpp"

namespace fault {

std::vector<std::string> childArguments(const Folder& folder, sg::Durability durability, std::uint64_t seed,
                                        const std::vector<std::string>& more) {
    std::vector<std::string> arguments{folder.path().string(), "--durability", nameOf(durability), "--seed",
                                       std::to_string(seed)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

void sleepForPartOf(std::mt19937_64& random, std::chrono::duration<double> time) {
    // sleeps: the moment at which a process is disturbed differs from round to round
    std::this_thread::sleep_for(std::uniform_real_distribution<double>(0, 1)(random) * time);
}

void expectDone(Process& process) {
    const auto ending = process.wait(patience_s);
    if (ending.code != 0) throw Failure("the child ended with " + ending.text());
}

Undisturbed runUndisturbed(const Settings& settings, sg::Durability durability, const std::vector<std::string>& more) {
    using Clock = std::chrono::steady_clock;
    const Folder folder(settings, std::string("undisturbed-") + nameOf(durability));
    Undisturbed result;
    const auto started = Clock::now();
    Process process(settings.child, childArguments(folder, durability, settings.seed, more));
    process.awaitReady();
    const auto ready = Clock::now();
    expectDone(process);
    result.startup = ready - started;
    result.run = Clock::now() - ready;
    Watch watch(folder.path(), durability);
    watch.look(false);
    result.final = readFinal(folder.path());
    result.steps = watch.stored().step;
    watch.checkFinal(result.final);
    if (!watch.stored().next.empty()) throw Failure("the undisturbed run is not done");
    folder.remove();
    return result;
}

}  // namespace fault
