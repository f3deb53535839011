#include <cstdlib>
#include <iostream>

#include "tests/fault/kill/harness.hpp"
#include "tests/fault/kill/options.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"

// Kills processes in the middle of graphs, and checks what is left and how it continues.
namespace {

using namespace fault;

constexpr const char* usage =
    "usage: stategraph-kill [OPTION…]\n"
    "  --mode kills|puts|sigterm|rivals  (kills) at random times; at every put; handed over at SIGTERM; several\n"
    "                                 processes that drive the same threads, and are killed and frozen\n"
    "  --kills N                      how many kills, hand-overs, or rounds of rivals, per durability (300)\n"
    "  --rivals K                     how many processes at a time (3)\n"
    "  --every N                      of the puts only each Nth (1)\n"
    "  --first N                      begins N puts later (0)\n"
    "  --durability sync|async|exit   only this one\n"
    "  --saver rocksdb|sqlite|postgres  where threads are stored (rocksdb); postgres: on the server that\n"
    "                                 STATEGRAPH_TEST_POSTGRES names, in schemas of its own\n"
    "  --seed S                       (STATEGRAPH_TEST_SEED, or a random one)\n"
    "  --dir FOLDER                   where threads are kept (a new folder for temporary files)\n"
    "  --child PROGRAM                (stategraph-kill-child beside this program)\n";

void checkSaver(const std::string& saver) {
    if (saver != "rocksdb" && saver != "sqlite" && saver != "postgres")
        throw std::invalid_argument("saver is rocksdb, sqlite or postgres");
    if ((saver == "sqlite" && STATEGRAPH_HAS_SQLITE == 0) || (saver == "postgres" && STATEGRAPH_HAS_POSTGRES == 0))
        throw std::invalid_argument("--saver " + saver + ": this program was built without it");
    if (saver == "postgres" && std::getenv("STATEGRAPH_TEST_POSTGRES") == nullptr)
        throw std::invalid_argument("--saver postgres: STATEGRAPH_TEST_POSTGRES names no server");
}

Settings parse(const std::vector<std::string>& arguments) {
    Settings settings;
    settings.seed = tests::seed();
    settings.child = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "stategraph-kill-child";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const auto value = [&]() -> const std::string& {
            if (i + 1 == arguments.size()) throw std::invalid_argument(argument + " needs a value");
            return arguments[++i];
        };
        if (argument == "--mode") {
            settings.mode = value();
        } else if (argument == "--kills") {
            settings.kills = numberOf<int>(argument, value());
        } else if (argument == "--every") {
            settings.every = numberOf<int>(argument, value());
        } else if (argument == "--rivals") {
            settings.rivals = numberOf<int>(argument, value());
        } else if (argument == "--first") {
            settings.first = numberOf<int>(argument, value());
        } else if (argument == "--durability") {
            settings.durabilities = {durabilityOf(value())};
        } else if (argument == "--saver") {
            settings.saver = value();
            checkSaver(settings.saver);
        } else if (argument == "--seed") {
            settings.seed = numberOf<std::uint64_t>(argument, value());
        } else if (argument == "--dir") {
            settings.folder = value();
        } else if (argument == "--child") {
            settings.child = value();
        } else {
            throw std::invalid_argument("no such option: " + argument);
        }
    }
    if (settings.rivals < 1) throw std::invalid_argument("--rivals must be at least 1");
    if (settings.kills < 1 || settings.every < 1) throw std::invalid_argument("--kills and --every must be at least 1");
    if (settings.first < 0) throw std::invalid_argument("--first must be at least 0");
    return settings;
}

void run(const Settings& settings) {
    if (settings.mode == "kills") {
        testKills(settings);
    } else if (settings.mode == "puts") {
        testPuts(settings);
    } else if (settings.mode == "sigterm") {
        testSigterm(settings);
    } else if (settings.mode == "rivals") {
        testRivals(settings);
    } else {
        throw std::invalid_argument("mode is kills, puts, sigterm or rivals, and not '" + settings.mode + "'");
    }
}

}  // namespace

int main(int count, char** values) {
    Settings settings;
    try {
        settings = parse({values + 1, values + count});
        const bool own_folder = settings.folder.empty();
        if (own_folder) settings.folder = TemporaryFolder::make();
        std::cout << settings.mode << ", seed " << settings.seed << std::endl;
        run(settings);
        if (own_folder) std::filesystem::remove_all(settings.folder);
        return 0;
    } catch (const std::invalid_argument& error) {
        std::cerr << "stategraph-kill: " << error.what() << "\n" << usage;
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "stategraph-kill: " << error.what() << "\n  what is left: " << settings.folder.string()
                  << "\n  again: stategraph-kill --mode " << settings.mode << " --kills " << settings.kills
                  << " --rivals " << settings.rivals << " --every " << settings.every << " --saver " << settings.saver
                  << " --seed " << settings.seed << "\n";
        return 1;
    }
}
