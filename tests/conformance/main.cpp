#include <charconv>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/conformance/compare.hpp"
#include "tests/conformance/savers.hpp"

// Runs conformance scenarios through the public API, and compares the results with the recordings, or prints them.
namespace {

constexpr const char* usage =
    "usage: stategraph-conformance [--saver memory|rocksdb:FOLDER|sqlite:FILE|postgres:CONNINFO] [--concurrency N] "
    "[--async] [--answer] [--part N/OF] [--differ NAMES] FILE...\n"
    "  FILE: a scenario (.json), scenarios (.ndjson, one a line) or a folder of .json files\n"
    "  --async: runs are awaited by coroutines instead of blocking\n"
    "  --answer: print what each scenario gives, one line of JSON each, instead of comparing\n"
    "  --part: only every OFth scenario, from the Nth on, counted from 0\n"
    "  --differ: a file with the names of scenarios whose recording is not followed, one a line; each must differ\n";

struct Options {
    std::string saver = "memory";
    int concurrency = 1;
    bool answers = false;
    bool awaits = false;
    conformance::Part part;
    std::set<std::string> differing;
    std::vector<std::string> files;
};

std::set<std::string> readNames(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::invalid_argument("cannot read '" + path + "'");
    std::set<std::string> names;
    for (std::string line; std::getline(file, line);) {
        if (!line.empty() && line.front() != '#') names.insert(line);
    }
    return names;
}

Options parse(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        const auto value = [&]() -> const std::string& {
            if (i + 1 == arguments.size()) throw std::invalid_argument(argument + " needs a value");
            return arguments[++i];
        };
        if (argument == "--answer") {
            options.answers = true;
        } else if (argument == "--async") {
            options.awaits = true;
        } else if (argument == "--saver") {
            options.saver = value();
        } else if (argument == "--part") {
            options.part = conformance::parsePart(value());
        } else if (argument == "--differ") {
            options.differing = readNames(value());
        } else if (argument == "--concurrency") {
            const std::string& number = value();
            const auto [end, error] =
                std::from_chars(number.data(), number.data() + number.size(), options.concurrency);
            if (error != std::errc() || end != number.data() + number.size() || options.concurrency < 1) {
                throw std::invalid_argument("--concurrency must be a number of at least 1, and is '" + number + "'");
            }
        } else if (argument.starts_with("-")) {
            throw std::invalid_argument("no such option: " + argument);
        } else {
            options.files.push_back(argument);
        }
    }
    if (options.files.empty()) throw std::invalid_argument("no FILE given");
    return options;
}

int run(const Options& options) {
    conformance::Savers savers(options.saver);
    std::size_t passed = 0;
    std::size_t failed = 0;
    for (const auto& scenario : conformance::readScenarios(options.files, options.part)) {
        conformance::Settings settings = savers.next(scenario);
        settings.concurrency = options.concurrency;
        settings.awaits = options.awaits;
        const auto answer = conformance::answer(scenario, settings);
        if (options.answers) {
            std::cout << boost::json::serialize(answer) << '\n';
            continue;
        }
        const auto found = conformance::differences(scenario, answer);
        const std::string name(conformance::text(conformance::get(scenario, "name")));
        const bool is_to_differ = options.differing.contains(name);
        const bool is_right = found.empty() != is_to_differ;
        ++(is_right ? passed : failed);
        if (is_right) continue;
        if (is_to_differ) {
            std::cout << name << ": does not differ; take it from the list\n";
            continue;
        }
        std::cout << name << ": " << boost::json::serialize(conformance::get(scenario, "about")) << '\n';
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
