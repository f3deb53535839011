#include <signal.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "tests/fault/kill/harness.hpp"
#include "tests/fault/kill/options.hpp"
#include "tests/fault/kill/rival.hpp"

// Several processes drive the same threads, and die or freeze at random times. Each thread is executed by one of them
// at a time: a node begins only when no other process is within one of the thread, and a task that ended begins again
// only if its process was killed. An effect happens again only if its process was killed within it. No thread fails
// or is forgotten, and each ends in the state of an undisturbed run.
namespace fault {
namespace {

class Referee {
public:
    // Checks the lines in the order in which they were written.
    void check(const std::vector<Words>& lines) {
        for (const auto& line : lines) {
            try {
                checkLine(line);
            } catch (const std::out_of_range&) {
                throw Failure("a line of the journal is cut: " + joined(line));
            }
        }
    }
    std::size_t handedOver() const noexcept { return handed_over_; }

private:
    void checkLine(const Words& line) {
        const std::string& what = line.at(0);
        if (what == "error") throw Failure(joined(line));
        if (what == "killing") {
            killed_.insert(line.at(1));
        } else if (what == "start") {
            checkStart(line, line.at(7), line.at(8));
        } else if (what == "end" || what == "left") {
            leave(line.at(7), line.at(8));
            if (what == "end") ended_by_[line.at(1)] = line.at(8);
        } else if (what == "effect") {
            checkEffect(line, line.at(1) + " " + line.at(2), line.at(3));
        } else if (what == "effect-done") {
            done_.insert(line.at(1) + " " + line.at(2));
        }
    }
    void checkStart(const Words& line, const std::string& thread, const std::string& process) {
        auto& [inside, visits] = inside_[thread];
        if (visits > 0 && inside != process && !killed_.contains(inside))
            throw Failure("process " + inside +
                          " is within a node of the thread, and another one begins: " + joined(line));
        if (inside != process) {
            visits = 0;
            handed_over_ += inside.empty() ? 0 : 1;
        }
        inside = process;
        ++visits;
        if (const auto before = ended_by_.find(line.at(1)); before != ended_by_.end()) {
            if (!killed_.contains(before->second))
                throw Failure("process " + before->second +
                              " has ended this task, and it begins again: " + joined(line));
            ended_by_.erase(before);
        }
    }
    void leave(const std::string& thread, const std::string& process) {
        auto& [inside, visits] = inside_[thread];
        if (inside == process) --visits;
    }
    void checkEffect(const Words& line, const std::string& effect, const std::string& process) {
        if (done_.contains(effect)) throw Failure("an effect that was acknowledged is made again: " + joined(line));
        const auto [before, is_first] = made_by_.try_emplace(effect, process);
        if (!is_first && !killed_.contains(before->second))
            throw Failure("process " + before->second + " makes this effect, and it is made again: " + joined(line));
        before->second = process;
    }
    static std::string joined(const Words& words) {
        std::string text;
        for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
        return text;
    }

    struct Inside {
        std::string process;
        int visits = 0;
    };
    std::set<std::string> killed_;                 // processes, from before their signal
    std::map<std::string, Inside> inside_;         // by thread: who is within its nodes
    std::map<std::string, std::string> ended_by_;  // by task
    std::map<std::string, std::string> made_by_;   // by task and key of an effect
    std::set<std::string> done_;
    std::size_t handed_over_ = 0;
};

struct Disturbances {
    int kills = 0;
    int freezes = 0;
    std::size_t handed_over = 0;
};

// One round: the processes of one store.
class Round {
public:
    Round(const Settings& settings, sg::Durability durability, std::uint64_t seed, const Folder& folder)
        : settings_(settings),
          durability_(durability),
          random_(seed),
          folder_(folder),
          journal_(folder.path() / "journal.txt", 0) {}

    // Starts all, disturbs them at random times, and waits until they have ended.
    Disturbances play(std::chrono::duration<double> run) {
        (void)openSaver(folder_.path());  // makes the tables
        Disturbances figures;
        for (int i = 0; i < settings_.rivals; ++i) processes_.push_back(begin(i));
        const int disturbances = static_cast<int>(random_() % 5);
        for (int i = 0; i < disturbances; ++i) {
            const auto which = random_() % processes_.size();
            sleepForPartOf(random_, run);
            if (random_() % 3 != 0) {
                journal_.note("killing " + std::to_string(processes_[which]->pid()));
                processes_[which]->signal(SIGKILL);
                (void)processes_[which]->wait(patience_s);
                processes_[which] = begin(static_cast<int>(which));
                ++figures.kills;
            } else {
                processes_[which]->signal(SIGSTOP);
                sleepForPartOf(random_, run);
                processes_[which]->signal(SIGCONT);
                ++figures.freezes;
            }
        }
        for (const auto& process : processes_) expectDone(*process);
        return figures;
    }

private:
    std::unique_ptr<Process> begin(int number) {
        return std::make_unique<Process>(settings_.child,
                                         childArguments(folder_, durability_, random_(),
                                                        {"--rounds", "2", "--rival", std::to_string(number), "--of",
                                                         std::to_string(settings_.rivals)}));
    }

    const Settings& settings_;
    sg::Durability durability_;
    std::mt19937_64 random_;
    const Folder& folder_;
    Journal journal_;
    std::vector<std::unique_ptr<Process>> processes_;
};

void checkThreads(const Folder& folder, const Final& undisturbed) {
    const auto saver = openSaver(folder.path());
    for (const auto& each : saver->unfinishedThreads())
        throw Failure("the thread " + std::string(each.thread_id) + " is left " + toString(each.reason) + ": " +
                      each.error);
    for (int i = 0; i < RivalOptions().threads; ++i) {
        const Final found = readFinal(folder.path(), rivalThread(i));
        if (found.values != undisturbed.values || found.keep != undisturbed.keep)
            throw Failure("the state of " + rivalThread(i) + " differs from an undisturbed run's:\n  " +
                          undisturbed.values + "\n  " + found.values + "\n  " + undisturbed.keep + "\n  " + found.keep);
    }
}

}  // namespace

void testRivals(const Settings& settings) {
    if (settings.saver == "rocksdb") throw std::invalid_argument("--mode rivals: RocksDB's folder is one process's");
    for (const auto durability : settings.durabilities) {
        if (durability == sg::Durability::exit) continue;  // stores nothing that another process could go on with
        const auto undisturbed = runUndisturbed(settings, durability, {"--rounds", "2"});
        Disturbances all;
        for (int i = 0; i < settings.kills; ++i) {
            const Folder folder(settings, std::string("rivals-") + nameOf(durability) + "-" + std::to_string(i));
            try {
                const Disturbances figures =
                    Round(settings, durability, mixed(settings.seed + static_cast<std::uint64_t>(i)), folder)
                        .play(undisturbed.run);
                awaitQuiet(folder.path());
                Referee referee;
                referee.check(readJournal(folder.path() / "journal.txt"));
                checkThreads(folder, undisturbed.final);
                all.kills += figures.kills;
                all.freezes += figures.freezes;
                all.handed_over += referee.handedOver();
            } catch (const std::exception& failure) {
                throw Failure(std::string(nameOf(durability)) + ", round " + std::to_string(i) + ": " + failure.what());
            }
            folder.remove();
        }
        std::cout << nameOf(durability) << ": " << settings.kills << " rounds of " << settings.rivals << " processes, "
                  << all.kills << " kills, " << all.freezes << " freezes; a thread went to another "
                  << "process " << all.handed_over << " times" << std::endl;
    }
}

}  // namespace fault
