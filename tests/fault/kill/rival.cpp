#include "tests/fault/kill/rival.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include <stategraph/answer.hpp>

namespace fault {
namespace {

class Rival {
public:
    Rival(const App& app, sg::BaseCheckpointSaver& saver, Journal& journal, const RivalOptions& options)
        : app_(app), saver_(saver), journal_(journal), options_(options), random_(options.seed) {}

    void operator()() {
        while (!allHaveEnded()) {
            if (random_() % 3 == 0) {
                recover();
            } else {
                attempt([&] { step(static_cast<int>(random_() % static_cast<unsigned>(options_.threads))); });
            }
        }
    }

private:
    // Calls it, and notes what it throws, unless that says that somebody else was first.
    template <class F>
    void attempt(F f) {
        try {
            f();
        } catch (const sg::ConcurrentUpdateError&) {
            giveWay();
        } catch (const sg::UnknownInterruptError&) {  // answered already
            giveWay();
        } catch (const sg::EmptyInputError&) {  // nothing is due any more
            giveWay();
        } catch (const std::exception& error) {
            noteError(error.what());
        }
    }
    static void giveWay() { std::this_thread::yield(); }
    void noteError(std::string text) {
        std::replace(text.begin(), text.end(), '\n', ' ');
        journal_.note("error " + text);
    }
    sg::RunConfig config(int number) const {
        return {.thread_id = rivalThread(number), .durability = options_.durability, .recursion_limit = 1000};
    }
    bool allHaveEnded() {
        bool all = true;
        attempt([&] {
            for (int i = 0; i < options_.threads && all; ++i) {
                const auto found = app_.getState({.thread_id = rivalThread(i)});
                all = found.tasks.empty() && static_cast<int>(found.values.inputs.size()) == options_.rounds;
            }
        });
        return all;
    }
    void recover() {
        attempt([&] {
            for (const auto& each :
                 app_.recover({.run = {.durability = options_.durability, .recursion_limit = 1000}})) {
                attempt([&] {
                    if (each.error) std::rethrow_exception(each.error);
                });
            }
        });
    }
    void step(int number) {
        const auto found = app_.getState({.thread_id = rivalThread(number)});
        const auto open = found.interrupts();
        const int given = static_cast<int>(found.values.inputs.size());
        if (!open.empty()) {
            const sg::Interrupt& question = open[random_() % open.size()];
            const sg::Answer answer{question.id, answerTo(question.value)};
            if (random_() % 3 == 0) {
                sg::answer(saver_, {.thread_id = rivalThread(number)}, {answer});
            } else {
                sg::Command<State> command;
                command.answers.push_back(answer);
                app_.invoke(std::move(command), config(number));
            }
            journal_.note("ack answer " + question.id.toString() + " " + std::to_string(question.index));
        } else if (!found.tasks.empty()) {
            app_.invoke(sg::RESUME, config(number));
        } else if (given < options_.rounds && number % options_.of == options_.number) {
            app_.invoke(inputOf(given), config(number));
        }
    }

    const App& app_;
    sg::BaseCheckpointSaver& saver_;
    Journal& journal_;
    const RivalOptions& options_;
    std::mt19937_64 random_;
};

}  // namespace

std::string rivalThread(int number) { return "thread" + std::to_string(number); }

void driveAsRival(const App& app, sg::BaseCheckpointSaver& saver, Journal& journal, const RivalOptions& options) {
    Rival(app, saver, journal, options)();
}

}  // namespace fault
