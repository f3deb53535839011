#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/books/agents.hpp"
#include "tests/books/history.hpp"
#include "tests/books/replayed.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/drivers.hpp"

// A conversation with a random agent, disturbed at random, whose four books are compared after each run.
namespace books {

class AgentHistory final : public History {
public:
    using History::History;

    void run() {
        open();
        const std::size_t calls = 2 + random_.below(7);
        for (std::size_t i = 0; i < calls && world_->wrong().empty(); ++i) oneCall(true);
        for (int i = 0; i < 2 && world_->wrong().empty(); ++i) {
            finish();
            if (i == 0) talk(sayingOf("and now?"), What::none);
        }
        if (world_->wrong().empty()) compareEnd();
        if (world_->wrong().empty()) judgeReplay(*world_, seed_, *observer_);
        close();
    }

private:
    /// What a client does, as a request of the server and as an input of the graph.
    struct Doing {
        std::string name;
        std::string operation = {};
        json::value body = {};
        std::function<std::pair<drivers::Outcome<agent::State>, bool>(const drivers::Driver&, const agent::Agent&,
                                                                      const sg::RunConfig&, std::size_t abandon)>
            run = {};
        std::set<std::string> answered = {};  // ids of questions, with their calls
        bool must_fail = false;
        bool needs_answer = false;
    };

    void open() {
        openSavers();
        const auto policy = random_.chance(30) ? sg::FailurePolicy::collect : sg::FailurePolicy::wait;
        agent_.emplace(agentOf(seed_, world_, fault_, policy));
        observer_.emplace(agentOf(seed_, world_, beside_));
        hub_ = std::make_unique<sg::StreamHub>(agent_->graph());
        if (seed_ % 2 == 0) return;
        server_ = makeServer();
        serve::EndpointOptions options;
        options.protocols = protocols();
        server_->add("a", serve::endpoint(*agent_, options));
    }
    void close() {
        server_.reset();
        hub_.reset();
        agent_.reset();
        observer_.reset();
        closeSavers();
    }

    template <class In>
    Doing doing(std::string name, std::string operation, json::value body, In input) {
        return {.name = std::move(name),
                .operation = std::move(operation),
                .body = std::move(body),
                .run = [input](const drivers::Driver& driver, const agent::Agent& helper, const sg::RunConfig& config,
                               std::size_t abandon) {
                    std::pair<drivers::Outcome<agent::State>, bool> ended;
                    if (abandon == 0)
                        ended.first = driver.run(helper.graph(), input, config);
                    else
                        ended.second = driver.abandon(helper.graph(), input, config, {.steps = abandon});
                    return ended;
                }};
    }
    Doing sayingOf(const std::string& text) { return doing("say", "start", {{"text", text}}, agent::said(text)); }
    Doing resuming() { return doing("resume", "resume", json::object(), sg::RESUME); }

    /// Answers an open call, and notes what follows from the answer.
    Doing answering(const agent::OpenCall& call) {
        const std::string what = whatOf({call.id, call.provider_id, call.tool, call.arguments.toJson()});
        json::object body{{"call_id", call.id}};
        sg::Command<> command;
        std::string name = "answer " + what + " of " + call.tool;
        const std::size_t kind = random_.below(100);
        if (call.is_for_client || (call.is_in_doubt && kind < 30)) {
            const std::string given = "given for " + what;
            world_->allow(given);
            body["output"] = given;
            command = observer_->give("t", call.id, {sg::Value(given), false});
            name += " with a result";
        } else if (kind < 55) {
            body["approved"] = true;
            command = observer_->decide("t", call.id, {.approved = true});
            if (call.is_in_doubt) ++repeats_[what];
        } else if (kind < 75 && !call.is_in_doubt) {
            agent::Decision decision{.approved = true};
            decision.arguments = sg::Value(Job{what, 1000});
            body["approved"] = true;
            body["arguments"] = {{"what", what}, {"n", 1000}};
            command = observer_->decide("t", call.id, decision);
            name += " with other arguments";
        } else {
            body["approved"] = false;
            body["reason"] = "no";
            command = observer_->decide("t", call.id, {.approved = false, .reason = "no"});
            name += " with no";
        }
        Doing made = doing(name, "decide", body, command);
        made.answered = {call.interrupt_id.toString()};
        made.needs_answer = true;
        return made;
    }
    /// Answers a question of a tool itself.
    Doing answeringQuestion(const sg::Interrupt& question) {
        const auto asked = question.value.as<std::string>();
        json::object answer{{"id", question.id.toString()}, {"value", asked}};
        sg::Command<> command;
        command.answers.push_back({question.id, sg::Value(asked)});
        Doing made = doing("answer the question " + asked, "resume", {{"answers", json::array{answer}}}, command);
        made.answered = {question.id.toString()};
        made.needs_answer = true;
        return made;
    }
    Doing answeringOne(const sg::StateSnapshot<agent::State>& state) {
        const std::vector<sg::Interrupt> open = state.interrupts();
        const sg::Interrupt& chosen = open[random_.below(open.size())];
        for (const agent::OpenCall& call : observer_->openCalls("t")) {
            if (call.interrupt_id == chosen.id) return answering(call);
        }
        return answeringQuestion(chosen);
    }

    void oneCall(bool is_disturbed) {
        const auto state = observer_->graph().getState({.thread_id = "t"});
        What what = is_disturbed ? anything() : What::none;
        if (is_disturbed && what == What::none && random_.chance(30)) what = What::message;
        const std::size_t kind = random_.below(100);
        const bool asks = !state.interrupts().empty();
        if (state.tasks.empty() || (is_disturbed && kind < 20)) return talk(sayingOf("go on"), what);
        if (is_disturbed && last_ && kind < 27) {
            Doing again = *last_;
            again.name += ", once more";
            again.must_fail = true;
            return talk(again, What::none);
        }
        if (asks && kind < (is_disturbed ? 85 : 101)) return talk(answeringOne(state), what);
        if (is_disturbed && kind > 92) return recover(what);
        talk(resuming(), what);
    }
    void finish() {
        for (int i = 0; world_->wrong().empty(); ++i) {
            if (observer_->graph().getState({.thread_id = "t"}).tasks.empty()) {
                if (!agent_->hasSent("t")) return;
                talk(sayingOf("and what I wrote?"), What::none);
            }
            if (i > 200) return world_->complain("the conversation does not come to an end");
            oneCall(false);
        }
    }

    void arm(What what, const std::shared_ptr<sg::RunControl>& control) {
        if (what == What::message) {
            const auto how = random_.chance(50) ? agent::WhileRunning::steer : agent::WhileRunning::enqueue;
            const std::string text = "by the way " + std::to_string(world_->sent().size());
            return world_->arm(1 + random_.below(12), sending(world_, *agent_, text, how));
        }
        const auto cancels = [this] { client::post(server_->port(), "/a/t/cancel", ""); };
        History::arm(what, control, cancels, [this] { return rival(); });
    }
    /// Another process on the same thread, at a moment of a run.
    std::function<void()> rival() {
        const std::size_t kind = random_.below(4);
        const auto saver = place_.openBeside(inner_);
        const auto other = std::make_shared<agent::Agent>(agentOf(seed_, world_, saver));
        return [other, kind] {
            try {
                const auto open = other->openCalls("t");
                if (kind == 0 && !open.empty() && !open[0].is_for_client) {
                    other->graph().invoke(other->decide("t", open[0].id, {.approved = false, .reason = "no"}),
                                          {.thread_id = "t"});
                } else if (kind == 1) {
                    other->say("me too", {.thread_id = "t"});
                } else if (kind == 2) {
                    other->graph().recover({});
                } else {
                    other->graph().invoke(sg::RESUME, {.thread_id = "t"});
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
        const auto before = begin();
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
            const auto [outcome, was_over] = doing.run(*driver, *agent_, config, abandon);
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
            response = client::post(server_->port(), "/a/t/" + doing.operation + "?protocol=" + protocol_.name,
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
        const auto before = begin();
        const auto control = std::make_shared<sg::RunControl>();
        sg::RunConfig config;
        config.control = control;
        arm(what, control);
        Ended ended;
        try {
            for (const auto& thread : agent_->graph().recover({.run = config})) ended.error = thread.why;
        } catch (const sg::Error& error) {
            ended.error = error.what();
        }
        end(Doing{.name = "recover"}, what, before, ended);
    }

    /// Ids of the calls that have results in the log.
    std::set<std::string> begin() {
        readCertain("t");
        undecided_ = undecidedCalls(*observer_);
        return resultsOf(observer_->graph().getState({.thread_id = "t"}).values);
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
        const auto state = observer_->graph().getState({.thread_id = "t"});
        for (const auto& task : state.tasks)
            tell("    due: " + task.name + " " + task.input.toJson().substr(0, 120) +
                 (task.finished ? " finished\n" : "\n"));
        readCertain("t");
        judgeConversation(*world_, state.values.messages, false, "log");
        if (what != What::rival) judgeUndecided(*world_, undecided_, state.values.messages);
        const bool is_calm = !is_dead && !(has_happened && what == What::rival) && what != What::abandon;
        compareStream(state, before, ended, is_calm && what != What::prune);
        if (is_calm && !doing.must_fail) compareStatus(state, ended, has_happened);
        if (doing.must_fail) {
            if (ended.error.empty()) world_->complain("an answer that was given before is taken again");
        } else if (doing.needs_answer) {
            const bool is_taken = is_calm && ended.error.empty();
            for (const sg::Interrupt& open : state.interrupts()) {
                if (is_taken && doing.answered.contains(open.id.toString()))
                    world_->complain("the question " + open.id.toString() + " was answered, and is open");
            }
            if (is_taken) last_ = doing;
        }
        if (!world_->wrong().empty()) tell(ended.told.all + state.valuesAsJson() + "\n");
    }
    void compareStream(const sg::StateSnapshot<agent::State>& state, const std::set<std::string>& before,
                       const Ended& ended, bool is_calm) {
        for (const auto& [id, text] : ended.told.results) {
            heard_.insert(id);
            for (const model::Message& message : state.values.messages) {
                for (const model::ToolCall& call : message.calls) {
                    if (call.id == id && text != "denied") judgeResult(*world_, call, text, "stream");
                }
            }
        }
        const std::set<std::string> after = resultsOf(state.values);
        if (ended.is_heard && is_calm && protocol_.name != "steps") {
            // A client of the AI SDK knows the calls of its own response alone.
            const std::set<std::string> known = protocol_.name == "ui" ? callsOfTurn(state.values) : after;
            for (const std::string& id : after) {
                if (known.contains(id) && !before.contains(id) && !heard_.contains(id))
                    world_->complain("the stream has not told the result of " + id);
            }
        }
        heard_.insert(after.begin(), after.end());
    }
    void compareStatus(const sg::StateSnapshot<agent::State>& state, const Ended& ended, bool has_happened) {
        if (!ended.is_heard) return;
        const std::string& told = ended.told.status;
        const bool is_done = state.tasks.empty();
        if (told == "done" && !is_done) world_->complain("a run with tasks that are due is told as done");
        if (is_done && told != "done" && !(has_happened && told == "cancelled"))
            world_->complain("a run that is done is told as " + told);
        const bool has_failed = isFailed();
        if ((told == "failed") != has_failed) world_->complain("the log and the stream differ in whether it failed");
        if (has_failed && ended.told.error.empty()) world_->complain("a failed run has no error");
        if (told != "interrupted") return;
        for (const sg::Interrupt& open : state.interrupts()) {
            const auto calls = observer_->openCalls("t");
            const auto call = std::find_if(calls.begin(), calls.end(),
                                           [&](const auto& each) { return each.interrupt_id == open.id; });
            const bool is_of_call = call != calls.end() && !call->is_in_doubt;
            const std::string id = is_of_call ? call->id : open.id.toString();
            if (!ended.told.questions.contains(id)) world_->complain("the stream has not told the question of " + id);
        }
    }
    void compareEnd() {
        const auto state = observer_->graph().getState({.thread_id = "t"});
        const std::set<std::string> answered = resultsOf(state.values);
        judgeSent(*world_, state.values);
        judgeCounted(*world_, state.values);
        for (const model::Message& message : state.values.messages) {
            for (const model::ToolCall& call : message.calls) {
                if (!answered.contains(call.id)) world_->complain("the call " + whatOf(call) + " has no result");
            }
        }
        for (const auto& [what, executions] : world_->journal()) {
            const auto ended = std::count_if(executions.begin(), executions.end(),
                                             [](const Execution& each) { return !each.result.empty(); });
            const auto thrown = std::count_if(executions.begin(), executions.end(),
                                              [](const Execution& each) { return each.has_thrown; });
            if (ended > 1 + disturbed_) world_->complain(what + " was executed " + std::to_string(ended) + " times");
            const std::string& tool = executions[0].tool;
            const auto most = 1 + repeats_[what] + thrown;
            if ((tool == "asks" || tool == "doubt") && static_cast<long>(executions.size()) > most)
                world_->complain(what + " was begun " + std::to_string(executions.size()) + " times, and it asks");
        }
    }

    std::optional<agent::Agent> agent_, observer_;
    std::unique_ptr<sg::StreamHub> hub_;
    std::unique_ptr<serve::Server> server_;
    std::set<std::string> heard_, undecided_;
    std::map<std::string, int> repeats_;
    std::optional<Doing> last_;
};

}  // namespace books
