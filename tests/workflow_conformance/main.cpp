#include <exception>
#include <iostream>
#include <stdexcept>

#include "tests/workflow_conformance/actions.hpp"
#include "tests/workflow_conformance/answer.hpp"
#include "tests/workflow_conformance/compare.hpp"

// Executes workflow scenarios through the public API and compares the results with the recordings, or prints them.
namespace {

using boost::json::object;

constexpr const char* usage =
    "usage: stategraph-workflow-conformance [--saver SAVER] [--answer] [--part N/OF] FILE...\n"
    "  SAVER: memory, rocksdb:FOLDER, sqlite:FILE or postgres:CONNINFO\n"
    "  FILE: a scenario (.json), scenarios (.ndjson, one a line) or a folder of .json files\n"
    "  --answer: print what each scenario gives, one line of JSON each, instead of comparing\n"
    "  --part: only every OFth scenario, from the Nth on, counted from 0\n";

constexpr int usual_times_slower = 40;

struct Options {
    std::string saver = "memory";
    bool answers = false;
    conformance::Part part = {};
    std::vector<std::string> files = {};
};

Options parse(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--answer") {
            options.answers = true;
        } else if (argument == "--saver") {
            if (++i == arguments.size()) throw std::invalid_argument("--saver needs a value");
            options.saver = arguments[i];
        } else if (argument == "--part") {
            if (++i == arguments.size()) throw std::invalid_argument("--part needs a value");
            options.part = conformance::parsePart(arguments[i]);
        } else if (argument.starts_with("-")) {
            throw std::invalid_argument("no such option: " + argument);
        } else {
            options.files.push_back(argument);
        }
    }
    if (options.files.empty()) throw std::invalid_argument("no FILE given");
    return options;
}

std::string nameOf(const object& scenario) { return conformance::text(conformance::get(scenario, "name")); }

// If a scenario throws outside an operation, it has no answers.
object answerOrTell(const object& scenario, workflow_conformance::Storage& storage, std::size_t number) {
    try {
        return workflow_conformance::answer(scenario, storage, std::to_string(number));
    } catch (const std::exception& error) {
        std::cerr << nameOf(scenario) << ": " << error.what() << '\n';
        return {{"name", nameOf(scenario)}, {"run", boost::json::array()}};
    }
}

// Whether what it gives depends on the order in which sleeps end, which a machine that pauses a thread changes.
bool dependsOnTimes(const object& scenario) {
    const std::string text = boost::json::serialize(scenario);
    return text.find("\"sleep\"") != std::string::npos || text.find("\"cancel_after\"") != std::string::npos;
}

// What differs. If that can be because a thread was paused, the scenario is tried again, each time four times slower.
std::vector<std::string> differencesOf(const object& scenario, workflow_conformance::Storage& storage,
                                       std::size_t number) {
    std::vector<std::string> found;
    int slower = usual_times_slower;
    for (int tries = dependsOnTimes(scenario) ? 4 : 1; tries > 0; --tries, slower *= 4) {
        workflow_conformance::setTimesSlower(slower);
        found = workflow_conformance::differences(scenario, answerOrTell(scenario, storage, number));
        if (found.empty()) break;
    }
    return found;
}

int run(const Options& options) {
    workflow_conformance::Storage storage(options.saver);
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::size_t number = 0;
    for (const auto& scenario : conformance::readScenarios(options.files, options.part)) {
        if (!scenario.contains("workflow")) continue;  // skips scenarios of partial JSON
        ++number;
        if (options.answers) {
            std::cout << boost::json::serialize(answerOrTell(scenario, storage, number)) << '\n';
            continue;
        }
        const auto found = differencesOf(scenario, storage, number);
        ++(found.empty() ? passed : failed);
        if (found.empty()) continue;
        std::cout << nameOf(scenario) << ": " << boost::json::serialize(conformance::get(scenario, "about")) << '\n';
        for (const auto& line : found) std::cout << "  " << line << '\n';
    }
    if (options.answers) return 0;
    std::cout << passed << " passed, " << failed << " failed\n";
    return failed > 0 || passed == 0 ? 1 : 0;
}

}  // namespace

int main(int count, char** values) {
    try {
        return run(parse({values + 1, values + count}));
    } catch (const std::invalid_argument& error) {
        std::cerr << error.what() << '\n' << usage;
        return 2;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
