#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/forwarding_saver.hpp>

#include "tests/fault/kill/drive.hpp"
#include "tests/fault/kill/open.hpp"
#include "tests/fault/kill/options.hpp"
#include "tests/fault/kill/rival.hpp"

// The process that is killed. It opens the database in FOLDER, reports that by one byte on its standard output, and
// brings the thread to its end.
namespace {

namespace sg = stategraph;
using namespace fault;

constexpr const char* usage =
    "usage: stategraph-kill-child FOLDER [OPTION…]\n"
    "  --durability sync|async|exit   (async)\n"
    "  --rounds N                     inputs to give (3)\n"
    "  --seed S                       how long nodes take\n"
    "  --slow                         a saver that async durability calls from another thread\n"
    "  --walk, --live                 runs as ranges of events; those of subgraphs too\n"
    "  --driver N                     runs in the Nth of the ways of tests/support/drivers.hpp, modulo how many there "
    "are\n"
    "  --kill-before N, --kill-after N   SIGKILL to itself before, after its Nth put, counted from 1\n"
    "  --rival NUMBER --of K          drives several threads beside K - 1 others\n"
    "  --term                         at SIGTERM walk no further, and end with 0\n";

std::atomic<bool> term_came = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so that a signal handler may set it

// Passes everything on, and dies at a put.
class DyingSaver final : public sg::ForwardingSaver {
public:
    explicit DyingSaver(const std::filesystem::path& folder) : ForwardingSaver(openSaver(folder)) {}
    long die_before = 0;
    long die_after = 0;
    bool is_slow = false;

    long puts() const { return puts_; }
    void put(const sg::PutRequest& request) override {
        const long number = ++puts_;
        if (number == die_before) die();
        inner()->put(request);
        if (number == die_after) die();
    }
    bool putIsSlow() const noexcept override { return is_slow; }
    bool answersLater() const noexcept override { return false; }  // so that each put is counted

private:
    [[noreturn]] static void die() {
        ::kill(::getpid(), SIGKILL);
        for (;;) ::pause();
    }

    std::atomic<long> puts_ = 0;
};

// What the command line says.
struct Asked {
    std::filesystem::path folder = {};
    std::uint64_t seed = 0;
    long die_before = 0;
    long die_after = 0;
    bool is_slow = false;
    DriveOptions options = {};
    bool is_rival = false;
    RivalOptions rival = {};
};

Asked parse(const std::vector<std::string>& arguments) {
    Asked asked;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const auto value = [&]() -> const std::string& {
            if (i + 1 == arguments.size()) throw std::invalid_argument(argument + " needs a value");
            return arguments[++i];
        };
        if (argument == "--durability") {
            asked.options.durability = durabilityOf(value());
        } else if (argument == "--rounds") {
            asked.options.rounds = numberOf<int>(argument, value());
        } else if (argument == "--seed") {
            asked.seed = numberOf<std::uint64_t>(argument, value());
        } else if (argument == "--kill-before") {
            asked.die_before = numberOf<long>(argument, value());
        } else if (argument == "--kill-after") {
            asked.die_after = numberOf<long>(argument, value());
        } else if (argument == "--slow") {
            asked.is_slow = true;
        } else if (argument == "--walk") {
            asked.options.walks = true;
        } else if (argument == "--live") {
            asked.options.walks = true;
            asked.options.live = true;
        } else if (argument == "--driver") {
            const auto& all = drivers::crossed();
            asked.options.driver = &all[numberOf<std::uint64_t>(argument, value()) % all.size()];
        } else if (argument == "--rival") {
            asked.is_rival = true;
            asked.rival.number = numberOf<int>(argument, value());
        } else if (argument == "--of") {
            asked.rival.of = numberOf<int>(argument, value());
        } else if (argument == "--term") {
            asked.options.walks = true;
            asked.options.stop = &term_came;
        } else if (argument.starts_with("-") || !asked.folder.empty()) {
            throw std::invalid_argument("what is " + argument + "?");
        } else {
            asked.folder = argument;
        }
    }
    if (asked.folder.empty()) throw std::invalid_argument("no FOLDER given");
    return asked;
}

int run(const std::vector<std::string>& arguments) {
    auto [folder, seed, die_before, die_after, is_slow, options, is_rival, rival] = parse(arguments);
    if (options.stop != nullptr) {
        struct sigaction action = {};
        action.sa_handler = [](int) { term_came = true; };
        ::sigaction(SIGTERM, &action, nullptr);
    }
    Journal journal = is_rival ? Journal::shared(folder / "journal.txt", seed) : Journal(folder / "journal.txt", seed);
    journal.note("process " + std::to_string(::getpid()));
    const auto saver = std::make_shared<DyingSaver>(folder);
    saver->die_before = die_before;
    saver->die_after = die_after;
    saver->is_slow = is_slow;
    const App app = makeApp(saver, journal);
    std::cout << 'r' << std::flush;
    if (is_rival) {
        rival.durability = options.durability;
        rival.rounds = options.rounds;
        rival.seed = seed;
        driveAsRival(app, *saver, journal, rival);
        return 0;
    }
    const bool is_done = drive(app, journal, options);
    journal.note("puts " + std::to_string(saver->puts()));
    journal.note(is_done ? "done" : "handed-over");
    return 0;
}

}  // namespace

int main(int count, char** values) {
    try {
        return run({values + 1, values + count});
    } catch (const std::invalid_argument& error) {
        std::cerr << "stategraph-kill-child: " << error.what() << "\n" << usage;
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "stategraph-kill-child: " << error.what() << "\n";
        return 1;
    }
}
