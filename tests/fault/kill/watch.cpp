#include "tests/fault/kill/watch.hpp"

#include <algorithm>

namespace fault {
namespace {

std::string joined(const Words& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// Returns the first place where two texts differ, with its surroundings.
std::string difference(const std::string& expected, const std::string& found) {
    const auto at =
        std::mismatch(expected.begin(), expected.end(), found.begin(), found.end()).first - expected.begin();
    const auto from = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, at - 60));
    return "\n  undisturbed: …" + expected.substr(std::min(from, expected.size()), 160) + "\n  found:       …" +
           found.substr(std::min(from, found.size()), 160);
}

}  // namespace

void Watch::look(bool read_only) {
    // The lines are compared with what was stored before them: `stored_` is still that of the last look.
    const auto lines = readJournal(folder_ / "journal.txt");
    started_before_.insert(started_.begin(), started_.end());
    started_.clear();
    ended_.clear();
    for (; lines_ < lines.size(); ++lines_) checkLine(lines[lines_]);
    stored_ = readStore(folder_, read_only);
    checkLogs();
    checkAcknowledged();
}

void Watch::checkLine(const Words& line) {
    const std::string& what = line.at(0);
    if (what == "start") {
        checkStart(line);
    } else if (what == "end") {
        ended_.insert(line.at(1));
    } else if (what == "effect" || what == "effect-done") {
        checkEffects(line);
    } else if (what == "ack" && line.at(1) == "input") {
        inputs_.emplace(line.at(2), line.at(3));
    } else if (what == "ack" && line.at(1) == "run") {
        runs_.insert(line.at(2));
    } else if (what == "ack" && line.at(1) == "answer") {
        answers_.emplace(line.at(2), std::stoull(line.at(3)));
    }
}

void Watch::checkStart(const Words& line) {
    const std::string& task = line.at(1);
    const std::string ns = line.at(6) == "-" ? "" : line.at(6);
    if (stored_.finished.contains(task)) throw Failure("a task whose writes were stored ran again: " + joined(line));
    if (ended_.contains(task)) throw Failure("a task that had ended ran again in the same process: " + joined(line));
    // Nothing before the newest stored checkpoint runs again: at most the current superstep is repeated.
    if (line.at(2) < stored_.head(ns)) {
        throw Failure("a superstep that was committed ran again, the log's head was " + stored_.head(ns) + ": " +
                      joined(line));
    }
    if (started_.insert(task).second && started_before_.contains(task)) ++repeated_;
}

void Watch::checkEffects(const Words& line) {
    const std::pair<std::string, std::string> effect{line.at(1), line.at(2)};
    if (line.at(0) == "effect-done") {
        effects_.insert(effect);
    } else if (effects_.contains(effect)) {
        throw Failure("an effect that was acknowledged was done again: " + joined(line));
    }
}

// Each log is a chain with one tip. Only that of `keep`, which lives with the thread, may have other tips: visits that
// were stored before the superstep around them was. With sync that cannot happen.
void Watch::checkLogs() const {
    for (const auto& [ns, log] : stored_.logs) {
        const bool may_branch = ns == keep_ns && durability_ != sg::Durability::sync;
        std::set<std::string> before{""};
        std::string newest;
        for (const auto& commit : log) {
            if (may_branch ? !before.contains(commit.parent) : commit.parent != newest) {
                throw Failure("the log '" + ns + "' is no chain: the parent of " + commit.id + " is '" + commit.parent +
                              "', and before it is '" + newest + "'");
            }
            newest = commit.id;
            before.insert(newest);
        }
    }
}

void Watch::checkAcknowledged() const {
    for (const auto& run : runs_) {
        if (!stored_.has("", run)) throw Failure("a run returned with checkpoint " + run + ", which is not stored");
    }
    std::vector<std::string> inputs;
    if (const auto root = stored_.logs.find(""); root != stored_.logs.end()) {
        for (const auto& commit : root->second) {
            if (commit.source == sg::Source::input) inputs.push_back(commit.id);
        }
    }
    for (const auto& [round, checkpoint] : inputs_) {
        if (std::find(inputs.begin(), inputs.end(), checkpoint) == inputs.end()) {
            throw Failure("input " + round + " was acknowledged with checkpoint " + checkpoint +
                          ", which is not stored");
        }
    }
    for (const auto& answer : answers_) {
        if (stored_.open.contains(answer)) {
            throw Failure("the answer to question " + std::to_string(answer.second) + " of task " + answer.first +
                          " was acknowledged, and the question is open");
        }
    }
}

void Watch::checkFinal(const Final& undisturbed) const {
    const Final found = readFinal(folder_);
    if (found.values != undisturbed.values) {
        throw Failure("the state differs from the undisturbed run's:" + difference(undisturbed.values, found.values));
    }
    if (found.keep != undisturbed.keep) {
        throw Failure("the subgraph's state differs from the undisturbed run's:" +
                      difference(undisturbed.keep, found.keep));
    }
    if (durability_ == sg::Durability::exit) return;
    for (std::size_t i = 0; i < std::max(found.history.size(), undisturbed.history.size()); ++i) {
        const std::string expected = i < undisturbed.history.size() ? undisturbed.history[i] : "nothing";
        const std::string got = i < found.history.size() ? found.history[i] : "nothing";
        if (expected != got)
            throw Failure("the history differs from the undisturbed run's:" + difference(expected, got));
    }
}

}  // namespace fault
