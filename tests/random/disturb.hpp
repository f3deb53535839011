#pragma once
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <stategraph/control.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/fault_saver.hpp>

#include "tests/random/graph.hpp"
#include "tests/random/undisturbed.hpp"
#include "tests/support/door.hpp"
#include "tests/support/drivers.hpp"
#include "tests/support/savers.hpp"

// Threads of random graphs, disturbed in every way that exists, must end like an undisturbed thread.
namespace random_graph {

/// Drives one thread call by call, each call disturbed in one way, until the thread is done.
class Disturbed {
public:
    Disturbed(const GraphPlan& plan, const Undisturbed& wanted, std::uint64_t seed, savers::Store& store, bool reopens)
        : plan_(plan), wanted_(wanted), random_(seed), store_(store), reopens_(reopens), remembers_(remembers(plan)) {
        open();
    }

    void drive() {
        const std::size_t disturbances = 1 + random_.below(8);
        for (std::size_t call = 0;; ++call) {
            require(call < 300, "the thread does not come to an end");
            const auto state = observer_->getState({.thread_id = thread_});
            if (state.config.checkpoint_id && state.tasks.empty())
                break;  // `next` omits tasks that only wait for their commit
            oneCall(state, call < disturbances);
            compare(false);
        }
        compare(true);
    }
    /// What was done, one line per call.
    const std::string& story() const noexcept { return story_; }

private:
    enum class What : std::uint8_t {
        none,
        node_throws,
        stop,
        drain,
        timeout,
        abandon,
        saver_fails,
        breakpoint,
        limit,
        second_writer,
        restart,
        recover,
        travel,
        prune,
        copy,
        count
    };
    static const char* nameOf(What what) {
        static constexpr const char* names[] = {"none",    "node throws", "stop",       "drain", "timeout",
                                                "abandon", "saver fails", "breakpoint", "limit", "second writer",
                                                "restart", "recover",     "travel",     "prune", "copy"};
        return names[static_cast<std::size_t>(what)];
    }

    void open() {
        inner_ = store_.open();
        fault_ = std::make_shared<sg::testing::FaultSaver>(inner_, sg::testing::FaultPlan{}, random_.chance(30));
        app_.emplace(build(plan_, world_,
                           {.checkpointer = fault_,
                            .on_failure = random_.chance(30) ? sg::FailurePolicy::collect : sg::FailurePolicy::wait}));
        // Uses another object on the same store, as another process would; it knows nothing of the first object's runs.
        observer_.emplace(build(plan_, std::make_shared<World>(), {.checkpointer = std::make_shared<Door>(inner_)}));
    }
    void reopen() {
        const std::weak_ptr<sg::BaseCheckpointSaver> old = inner_;
        app_.reset();
        observer_.reset();
        fault_.reset();
        inner_.reset();
        world_->disarm();
        // Attempts that were abandoned may end a little later.
        for (int i = 0; reopens_ && !old.expired(); ++i) {
            require(i < 300'000, "something holds the saver after its runs have ended");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: between two looks
        }
        open();
    }

    sg::RunConfig config(What what) {
        sg::RunConfig made{.thread_id = thread_, .recursion_limit = limit, .context = world_->nextTurn()};
        made.durability = static_cast<sg::Durability>(random_.below(3));
        exits_ = exits_ || made.durability == sg::Durability::exit;
        if (const std::size_t most = random_.below(4); most > 0) made.max_concurrency = static_cast<int>(most);
        if (what == What::stop || what == What::drain) made.control = std::make_shared<sg::RunControl>();
        if (what == What::timeout) made.timeout = std::chrono::milliseconds(1 + random_.below(4));
        if (what == What::limit) made.recursion_limit = 1 + static_cast<int>(random_.below(3));
        if (what == What::breakpoint) {
            const sg::NodeNames at = random_.chance(20) ? "*" : random_.oneOf(plan_.nodes).name;
            (random_.chance(50) ? made.interrupt_before : made.interrupt_after) = at;
        }
        return made;
    }

    void arm(What what, const sg::RunConfig& run) {
        const std::size_t nth = 1 + random_.below(wanted_.touches * 2 / 3 + 1);
        const auto control = run.control;
        switch (what) {
            case What::node_throws:
                world_->arm(
                    nth, [](sg::Runtime*) { throw std::runtime_error("injected failure of a node"); }, true);
                break;
            case What::stop:
                world_->arm(
                    nth, [control](sg::Runtime*) { control->requestStop(); }, false);
                break;
            case What::drain:
                world_->arm(
                    nth, [control](sg::Runtime*) { control->requestDrain(); }, false);
                break;
            case What::timeout:
                world_->arm(
                    nth,
                    [](sg::Runtime* runtime) {
                        for (int ms = 0; runtime != nullptr && ms < 1000 && !runtime->stopRequested(); ++ms) {
                            std::this_thread::sleep_for(std::chrono::milliseconds(1));  // sleeps: work that takes time
                        }
                    },
                    false);
                break;
            case What::second_writer: {
                was_second_ = true;
                const App other = *observer_;
                const sg::RunConfig with{.thread_id = thread_, .recursion_limit = limit, .context = Turn()};
                world_->arm(
                    nth,
                    [other, with](sg::Runtime*) {
                        try {
                            (void)other.invoke(sg::RESUME, with);
                        } catch (const sg::EmptyInputError&) {
                            // With durability `exit` nothing is stored yet.
                        }
                    },
                    false);
                break;
            }
            case What::saver_fails:
                fault_->arm(
                    {.fail_at = 1 + random_.below(60), .once = random_.chance(60), .after_effect = random_.chance(50)});
                break;
            default:
                break;
        }
    }

    void before(What what) {
        if (what == What::restart) reopen();
        if (what == What::prune) inner_->prune({.thread_id = thread_, .keep_last = 1 + random_.below(3)});
        if (what == What::copy) {
            const std::string to = thread_ + "'";
            inner_->copyThread(thread_, to);
            thread_ = to;
        }
        if (what == What::prune) prunes_ = true;
    }

    void oneCall(const sg::StateSnapshot<State>& state, bool disturbed) {
        const bool is_new = !state.config.checkpoint_id;
        auto what = disturbed ? static_cast<What>(random_.below(static_cast<std::size_t>(What::count))) : What::none;
        if (is_new && (what == What::travel || what == What::recover || what == What::prune || what == What::copy))
            what = What::none;
        const drivers::Driver* driver = &random_.oneOf(drivers::crossed());
        while (what == What::abandon && !driver->canAbandon()) driver = &random_.oneOf(drivers::crossed());
        before(what);
        sg::RunConfig run = config(what);
        arm(what, run);
        tell(std::string("  ") + nameOf(what) + ", " + driver->name + ", durability " +
             std::to_string(static_cast<int>(run.durability)));
        Ended ended;
        if (is_new) {
            ended = call(*driver, what, theInput(), run);
        } else if (what == What::recover) {
            ended = recovers(run);
        } else if (what == What::travel) {
            ended = travels(*driver, run);
        } else if (const auto questions = state.interrupts();
                   !questions.empty() && (!disturbed || random_.chance(80))) {
            ended = call(*driver, what, answers(questions), run);
        } else {
            ended = call(*driver, what, sg::RESUME, run);
        }
        world_->disarm();
        fault_->disarm();
        judge(what, ended);
    }

    // Flushes at once, in case the call never returns.
    void tell(const std::string& text) {
        static const bool at_once = std::getenv("STATEGRAPH_RANDOM_VERBOSE") != nullptr;
        story_ += text;
        if (at_once) std::cout << text << std::flush;
    }

    struct Ended {
        std::exception_ptr error;
        std::string text;
        std::optional<sg::Status> status;
        std::optional<State> values;
    };

    template <class In>
    Ended call(const drivers::Driver& driver, What what, const In& input, const sg::RunConfig& run) {
        if (what == What::abandon) {
            const std::size_t steps = 1 + random_.below(12);
            const bool was_over = driver.abandon(*app_, input, run, {.steps = steps});
            tell(was_over ? ", over before" : ", left after " + std::to_string(steps));
            return {};
        }
        const auto outcome = driver.run(*app_, input, run);
        Ended ended{outcome.error, outcome.what(), {}, {}};
        if (outcome.error) return ended;
        ended.status = outcome.status;
        ended.values = outcome.values;
        return ended;
    }
    Ended recovers(const sg::RunConfig& run) {
        const auto report = app_->recover(
            {.run = run, .only = [this](const sg::UnfinishedThread& thread) { return thread.thread_id == thread_; }});
        Ended ended;
        for (const auto& thread : report) {
            require(!thread.why.starts_with("it was not resumed"), thread.why);
            ended.error = thread.error;
            ended.text = thread.why;
            ended.status = thread.status;
        }
        return ended;
    }
    Ended travels(const drivers::Driver& driver, sg::RunConfig run) {
        std::vector<sg::CheckpointId> places;
        for (const auto& snapshot : observer_->getStateHistory({.thread_id = thread_}, {.values = false})) {
            if (!snapshot.next.empty()) places.push_back(snapshot.config.checkpoint_id);
        }
        if (places.empty()) return {};
        travelled_ = true;
        run.checkpoint_id = random_.oneOf(places);
        return call(driver, What::travel, sg::RESUME, run);
    }
    Command answers(const std::vector<sg::Interrupt>& questions) {
        Command command;
        std::map<std::string, const sg::Interrupt*> first;
        for (const auto& question : questions) first.emplace(question.id.toString(), &question);
        if (first.size() == 1 && random_.chance(50)) {
            command.resume = answerTo(*first.begin()->second);
            return command;
        }
        for (const auto& [id, question] : first) {
            if (command.answers.empty() || random_.chance(60))
                command.answers.push_back({question->id, answerTo(*question)});
        }
        return command;
    }

    void judge(What what, const Ended& ended) {
        if (ended.error) {
            tell(": " + ended.text + "\n");
            bool expected = ended.text.find("injected") != std::string::npos;
            // If an effect's record meets this error, it is reported as the failure of its node.
            if (ended.text.find("another run committed first") != std::string::npos ||
                ended.text.find("another run changed the pending write") != std::string::npos)
                expected = what == What::second_writer;
            try {
                std::rethrow_exception(ended.error);
            } catch (const sg::GraphRecursionError&) {
                expected = what == What::limit;
            } catch (...) {
            }
            require(expected, "an error that nobody made: " + ended.text);
            return;
        }
        tell(std::string(": ") + (ended.status ? sg::toString(*ended.status) : "-") + "\n");
        if (ended.status != sg::Status::done) return;
        const auto state = observer_->getState({.thread_id = thread_});
        require(state.tasks.empty(), "the run is done, and tasks are due");
        require(state.values == wanted_.end, "the run is done, and not as undisturbed: " + state.valuesAsJson());
        require(!ended.values || *ended.values == wanted_.end,
                "the run is done, and gives other values than it stored");
    }

    void compare(bool is_done) {
        const auto& wanted = travelled_ ? wanted_.lines_without_steps : wanted_.lines;
        // A second writer leaves a visit in a log that lives with the thread, and the next visit continues after it.
        const bool only_root = was_second_ && remembers_;
        for (const std::string& line : stored(*inner_, thread_, !travelled_, only_root)) {
            require(wanted.contains(line), "a checkpoint that the undisturbed run does not have: " + line);
        }
        if (!is_done) return;
        const auto state = observer_->getState({.thread_id = thread_});
        require(state.values == wanted_.end, "the end is not as undisturbed: " + state.valuesAsJson());
        require(state.tasks.empty(), "tasks are left");
        if (travelled_ || exits_ || prunes_) return;
        require(stored(*inner_, thread_, true, true) == wanted_.root, "the history is not that of the undisturbed run");
    }

    const GraphPlan& plan_;
    const Undisturbed& wanted_;
    Random random_;
    savers::Store& store_;
    bool reopens_;
    bool remembers_;
    SharedWorld world_ = std::make_shared<World>();
    std::shared_ptr<sg::BaseCheckpointSaver> inner_;
    std::shared_ptr<sg::testing::FaultSaver> fault_;
    std::optional<App> app_;
    std::optional<App> observer_;
    std::string thread_ = "t";
    bool exits_ = false;
    bool travelled_ = false;
    bool prunes_ = false;
    bool was_second_ = false;
    std::string story_;
};

}  // namespace random_graph
