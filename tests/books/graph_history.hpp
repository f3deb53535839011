#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/serve/endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/books/graphs.hpp"
#include "tests/books/history.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/drivers.hpp"

// A thread of a random graph, disturbed at random, whose books are compared after each run.
namespace books {

class GraphHistory final : public History {
public:
    using History::History;

    void run() {
        open();
        talk(saying(), anything());
        for (int i = 0; world_->wrong().empty(); ++i) {
            const auto state = observer_->getState({.thread_id = "t"});
            if (state.tasks.empty() && (turn_ >= 2 || i >= 12) && turn_ > 0) break;
            if (i > 200) world_->complain("the thread does not come to an end");
            oneCall(state, i < 12);
        }
        if (world_->wrong().empty()) compareEnd();
        close();
    }

private:
    struct Doing {
        std::string name;
        std::string operation = {};
        json::value body = {};
        std::function<std::pair<drivers::Outcome<GraphState>, bool>(const drivers::Driver&, const BookGraph&,
                                                                    const sg::RunConfig&, std::size_t abandon)>
            run = {};
        std::string answered = {};  // the id of a question
        bool must_fail = false;
    };

    void open() {
        openSavers();
        graph_.emplace(GraphPlanner(seed_, world_).make(fault_));
        observer_.emplace(GraphPlanner(seed_, world_).make(beside_));
        hub_ = std::make_unique<sg::StreamHub>(*graph_);
        if (seed_ % 2 == 0) return;
        server_ = makeServer();
        serve::EndpointOptions options;
        options.protocols = protocols();
        server_->add("g", serve::endpoint(*graph_, options));
    }
    void close() {
        server_.reset();
        hub_.reset();
        graph_.reset();
        observer_.reset();
        closeSavers();
    }

    template <class In>
    static Doing doing(std::string name, std::string operation, json::value body, In input) {
        return {.name = std::move(name),
                .operation = std::move(operation),
                .body = std::move(body),
                .run = [input](const drivers::Driver& driver, const BookGraph& graph, const sg::RunConfig& config,
                               std::size_t abandon) {
                    std::pair<drivers::Outcome<GraphState>, bool> ended;
                    if (abandon == 0)
                        ended.first = driver.run(graph, input, config);
                    else
                        ended.second = driver.abandon(graph, input, config, {.steps = abandon});
                    return ended;
                }};
    }
    Doing saying() {
        ++turn_;
        return doing("turn " + std::to_string(turn_), "start", {{"input", {{"turn", turn_}}}},
                     BookUpdate{sg::set(&GraphState::turn, turn_)});
    }
    static Doing resuming() { return doing("resume", "resume", json::object(), sg::RESUME); }
    static Doing answering(const sg::Interrupt& question) {
        const auto asked = question.value.as<std::string>();
        const std::string answer = "yes to " + asked;
        const json::object body{{"id", question.id.toString()}, {"value", answer}};
        sg::Command<> command;
        command.answers.push_back({question.id, sg::Value(answer)});
        Doing made = doing("answer " + asked, "resume", {{"answers", json::array{body}}}, command);
        made.answered = question.id.toString();
        return made;
    }

    void oneCall(const sg::StateSnapshot<GraphState>& state, bool is_disturbed) {
        const What what = is_disturbed ? anything() : What::none;
        const std::size_t kind = random_.below(100);
        const std::vector<sg::Interrupt> open = state.interrupts();
        if (state.tasks.empty() || (is_disturbed && kind < 8)) return talk(saying(), what);
        if (is_disturbed && last_ && kind < 15) {
            Doing again = *last_;
            again.name += ", once more";
            again.must_fail = true;
            return talk(again, What::none);
        }
        if (!open.empty() && kind < (is_disturbed ? 85 : 101)) return talk(answering(random_.oneOf(open)), what);
        if (is_disturbed && kind > 92) return recover(what);
        talk(resuming(), what);
    }

    void arm(What what, const std::shared_ptr<sg::RunControl>& control) {
        const auto cancels = [this] { client::post(server_->port(), "/g/t/cancel", ""); };
        History::arm(what, control, cancels, [this] { return rival(); });
    }
    /// Another process on the same thread, at a moment of a run.
    std::function<void()> rival() {
        const std::size_t kind = random_.below(3);
        const auto other = std::make_shared<BookGraph>(GraphPlanner(seed_, world_).make(place_.openBeside(inner_)));
        return [other, kind] {
            try {
                const auto open = other->getState({.thread_id = "t"}).interrupts();
                if (kind == 0 && !open.empty()) {
                    sg::Command<> command;
                    command.answers.push_back({open[0].id, sg::Value("yes to " + open[0].value.as<std::string>())});
                    other->invoke(command, {.thread_id = "t"});
                } else if (kind == 1) {
                    other->recover({});
                } else {
                    other->invoke(sg::RESUME, {.thread_id = "t"});
                }
            } catch (const std::exception&) {
                // It was refused, or lost.
            }
        };
    }

    /// One run of a client, and what it shows.
    void talk(const Doing& doing, What what) {
        const bool is_served = server_ != nullptr && what != What::drain && what != What::abandon;
        const drivers::Driver* driver = &random_.oneOf(drivers::crossed());
        while (what == What::abandon && !driver->canAbandon()) driver = &random_.oneOf(drivers::crossed());
        const std::shared_ptr<sg::RunControl> control =
            !is_served && (what == What::stop || what == What::drain) ? std::make_shared<sg::RunControl>() : nullptr;
        const std::size_t abandon = what == What::abandon ? 1 + random_.below(12) : 0;
        tell(doing.name + nameOf(what) + ", " + (is_served ? "served" : driver->name) + ", " + protocol_.name);
        readCertain("t");
        held_ = resultsNow();
        std::set<std::string> before = committed();
        if (doing.operation == "start") before.insert(held_.begin(), held_.end());
        Ended ended;
        if (is_served) {
            arm(what, control);
            ended = request(doing);
        } else {
            sg::RunConfig config{.thread_id = "t"};
            config.control = control;
            config.hub = hub_.get();
            config.durability = random_.chance(50) ? sg::Durability::sync : sg::Durability::async;
            Listener listener(*hub_, "t", protocol_);
            arm(what, control);
            const auto outcome = doing.run(*driver, *graph_, config, abandon).first;
            ended.error = outcome.what();
            try {
                ended.told = listener.heard();
                ended.is_heard = abandon == 0;
            } catch (const sg::Error&) {
                // The process is dead.
            }
            if (!outcome.error && abandon == 0 && !ended.told.status.empty() &&
                ended.told.status != sg::toString(outcome.status))
                world_->complain(std::string("the run is ") + sg::toString(outcome.status) + ", and told as " +
                                 ended.told.status);
        }
        end(doing, what, before, ended);
    }
    Ended request(const Doing& doing) {
        Ended ended;
        client::Response response;
        try {
            response = client::post(server_->port(), "/g/t/" + doing.operation + "?again=1&protocol=" + protocol_.name,
                                    json::serialize(doing.body));
        } catch (const boost::system::system_error& broken) {  // the process is dead
            if (fault_->failures() == 0) world_->complain(std::string("a response broke off: ") + broken.what());
            ended.error = broken.what();
            return ended;
        }
        if (response.status != 200) {
            ended.error = response.body;
            return ended;
        }
        for (const json::object& line : response.objects()) ended.told.read(protocol_.name, line);
        ended.is_heard = true;
        ended.error = ended.told.error;
        if (ended.told.status == "failed" && ended.error.empty()) world_->complain("a failed run has no error");
        return ended;
    }
    void recover(What what) {
        if (what == What::abandon || what == What::drain) what = What::none;
        tell("recover" + std::string(nameOf(what)));
        readCertain("t");
        held_ = resultsNow();
        const std::set<std::string> before = committed();
        const auto control = std::make_shared<sg::RunControl>();
        sg::RunConfig config;
        config.control = control;
        arm(what, control);
        Ended ended;
        try {
            for (const auto& thread : graph_->recover({.run = config})) ended.error = thread.why;
        } catch (const sg::Error& error) {
            ended.error = error.what();
        }
        end(Doing{.name = "recover"}, what, before, ended);
    }
    /// The results in the newest checkpoint, without those of tasks that have ended since.
    std::set<std::string> committed() {
        const auto now = observer_->getState({.thread_id = "t"});
        if (now.config.checkpoint_id.empty()) return {};
        const auto values = observer_->getState(now.config).values;
        return {values.did.begin(), values.did.end()};
    }

    /// The results of tasks that have ended, which a new input takes.
    std::set<std::string> resultsNow() {
        const auto values = observer_->getState({.thread_id = "t"}).values;
        return {values.did.begin(), values.did.end()};
    }

    void end(const Doing& doing, What what, const std::set<std::string>& before, const Ended& ended) {
        const bool has_happened = canBeNoticed(what);
        const bool is_dead = fault_->failures() > 0;
        if (is_dead || has_happened) ++disturbed_;
        fault_->disarm();
        tell((ended.error.empty() ? "" : ": " + ended.error) +
             (is_dead        ? ", dead"
              : has_happened ? ", happened"
                             : "") +
             (ended.told.status.empty() ? "" : ", told as " + ended.told.status) + "\n");
        if (is_dead) {
            close();
            open();
        }
        const auto state = observer_->getState({.thread_id = "t"}, {.subgraphs = true});
        for (const auto& task : state.tasks)
            tell("    due: " + task.name + (task.finished ? " finished" : "") + (task.error ? " failed" : "") +
                 " asks " + std::to_string(task.interrupts.size()) + "\n");
        readCertain("t");
        compareLog(state);
        for (const std::string& text : held_) {
            if (std::ranges::count(state.values.did, text) == 0) world_->complain("the thread has lost: " + text);
        }
        const bool is_calm = !is_dead && !(has_happened && what == What::rival) && what != What::abandon;
        if (is_calm && !has_happened) compareJournal();
        if (is_calm && ended.is_heard && what != What::prune) compareStream(before, ended);
        if (is_calm && ended.is_heard && !doing.must_fail)
            compareStatus(state, ended, has_happened ? what : What::none);
        if (doing.must_fail) {
            if (ended.error.empty()) world_->complain("an answer that was given before is taken again");
        } else if (!doing.answered.empty() && is_calm && ended.error.empty()) {
            last_ = doing;
            for (const sg::Interrupt& open : state.interrupts()) {
                if (open.id.toString() == doing.answered)
                    world_->complain("the question " + doing.answered + " was answered, and is open");
            }
        } else if (!ended.error.empty() && is_calm && !has_happened && !has(ended.error, "boom") &&
                   doing.answered.empty()) {
            world_->complain("an error that nobody made: " + ended.error);
        }
        if (!world_->wrong().empty()) tell(ended.told.all + state.valuesAsJson() + "\n");
    }
    void compareLog(const sg::StateSnapshot<GraphState>& state) {
        std::set<std::string> seen;
        for (const std::string& text : state.values.did) {
            if (!seen.insert(text).second) world_->complain("the log has twice: " + text);
            if (!hasHappened(text)) world_->complain("the log has what never happened: " + text);
        }
    }
    bool hasHappened(const std::string& text) const {
        for (const auto& [what, executions] : world_->journal()) {
            for (const Execution& each : executions) {
                if (each.result == text) return true;
            }
        }
        return false;
    }
    /// What was executed to its end is stored, whatever its siblings did.
    void compareJournal() {
        for (const auto& [what, executions] : world_->journal()) {
            if (!executions.back().result.empty() && !world_->isCertain(what) && disturbed_ == 0)
                world_->complain(what + " was executed, and its result is lost");
        }
    }
    void compareStream(const std::set<std::string>& before, const Ended& ended) {
        if (protocol_.name != "events") return;
        for (const std::string& text : committed()) {
            if (!before.contains(text) && !has(ended.told.all, text))
                world_->complain("the stream has not told: " + text);
        }
    }
    void compareStatus(const sg::StateSnapshot<GraphState>& state, const Ended& ended, What happened) {
        const std::string& told = ended.told.status;
        const bool is_done = state.tasks.empty();
        if (told == "done" && !is_done) world_->complain("a run with tasks that are due is told as done");
        if (is_done && told != "done" && !(happened != What::none && told == "cancelled"))
            world_->complain("a run that is done is told as " + told);
        const auto listed = inner_->unfinishedThreads({});
        const std::string reason = listed.empty() ? "done" : sg::toString(listed[0].reason);
        // What a drain has stopped in a graph inside is due, also beside questions. What asked before may still ask.
        const bool was_drained = happened == What::drain && (told == "drained" || told == "interrupted");
        const bool is_as_drained = was_drained && (reason == "in_flight" || reason == "interrupted");
        if (told != reason && !is_as_drained && !(told == "cancelled" && is_done)) {
            world_->complain("the run is told as " + told + ", and listed as " + reason + " with " +
                             std::to_string(listed.empty() ? 0 : listed[0].interrupts.size()) + " questions, of " +
                             std::to_string(state.interrupts().size()));
        }
        if (isFailed() && ended.told.error.empty()) world_->complain("a failed run has no error");
        if (told != "interrupted") return;
        for (const sg::Interrupt& open : state.interrupts()) {
            if (!ended.told.questions.contains(open.id.toString()))
                world_->complain("the stream has not told the question " + open.value.toJson());
        }
    }
    void compareEnd() {
        for (const auto& [what, executions] : world_->journal()) {
            const auto ended = std::count_if(executions.begin(), executions.end(),
                                             [](const Execution& each) { return !each.result.empty(); });
            if (ended > 1 + disturbed_) world_->complain(what + " was executed " + std::to_string(ended) + " times");
        }
    }

    std::optional<BookGraph> graph_, observer_;
    std::unique_ptr<sg::StreamHub> hub_;
    std::unique_ptr<serve::Server> server_;
    std::optional<Doing> last_;
    std::set<std::string> held_;  // the results that the thread had before a run
    std::int64_t turn_ = 0;
};

}  // namespace books
