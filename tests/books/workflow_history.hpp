#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/serve/server.hpp>
#include <stategraph/serve/workflow_endpoint.hpp>
#include <stategraph/unfinished.hpp>
#include <stategraph/workflow/workflow.hpp>

#include "tests/books/history.hpp"
#include "tests/serve/client.hpp"

// A run of a random workflow, disturbed at random, whose books are compared after each call.
namespace books {

namespace wf = stategraph::workflow;

/// Makes random workflows. Each step does one piece of work: its path, the round of a loop, and the element of a list.
class WorkflowPlanner {
public:
    WorkflowPlanner(std::uint64_t seed, SharedWorld world) : random_(seed), world_(std::move(world)) {}

    wf::Definition make(const std::string& id, int depth = 0) {
        wf::Definition made{.id = id};
        made.retry = {.max_attempts = 2, .initial_interval = std::chrono::milliseconds(1)};
        const std::size_t count = depth == 0 ? 2 + random_.below(3) : 1 + random_.below(2);
        for (std::size_t i = 0; i < count; ++i) {
            wf::Entry entry;
            const std::size_t kind = random_.below(depth == 0 ? 10 : 7);
            const std::string name = "s" + std::to_string(i);
            if (kind < 4) {
                entry.steps = {step(name, depth)};
            } else if (kind < 6) {
                entry.kind = wf::Entry::Kind::parallel;
                for (std::size_t m = 0; m < 2 + random_.below(2); ++m)
                    entry.steps.push_back(step(name + static_cast<char>('a' + m), depth));
            } else if (kind < 8) {
                wf::Entry list{.kind = wf::Entry::Kind::map, .id = name + "list"};
                const auto size = 1 + static_cast<std::int64_t>(random_.below(3));
                list.transform = [size](const wf::Scope&) {
                    std::vector<std::int64_t> elements;
                    for (std::int64_t e = 0; e < size; ++e) elements.push_back(e);
                    return sg::Value(elements);
                };
                made.entries.push_back(std::move(list));
                entry.kind = wf::Entry::Kind::foreach;
                entry.steps = {step(name, 2)};
                entry.concurrency = 1 + static_cast<int>(random_.below(3));
            } else {
                entry.kind = wf::Entry::Kind::dountil;
                entry.steps = {step(name, 2)};
                entry.conditions = {[](const wf::Scope& scope) { return scope.iteration() >= 2; }};
            }
            made.entries.push_back(std::move(entry));
        }
        return made;
    }

private:
    wf::Step step(const std::string& id, int depth) {
        wf::Step made{.id = id};
        if (depth == 0 && random_.chance(15)) {
            made.workflow = std::make_shared<const wf::Definition>(make(id + "w", 1));
            made.retry = sg::RetryPolicy{.max_attempts = 1};  // another attempt would execute all of it again
            return made;
        }
        const bool is_effect = random_.chance(60);
        const int questions = random_.chance(35) ? 1 + static_cast<int>(random_.below(2)) : 0;
        const std::size_t fails = random_.chance(4) ? 99 : random_.chance(20) ? 1 : 0;
        made.execute = [world = world_, is_effect, questions, fails](const sg::Value& input,
                                                                     wf::StepContext& context) -> sg::Value {
            std::string what = context.path() + "/" + std::to_string(context.iteration());
            const std::string element = input.toJson();
            if (element[0] >= '0' && element[0] <= '9') what += "/" + element;
            for (int q = 0; q < questions; ++q) ask(*world, context, what + "?" + std::to_string(q));
            const auto work = [&] {
                const std::size_t which = world->begin(what, context.path(), is_effect ? "once" : "plain", 0);
                world->touch();
                if (which < fails) {
                    world->fail(what, which);
                    throw std::runtime_error("boom " + what);
                }
                const std::string result = "did " + what + ", execution " + std::to_string(which) + ".";
                world->end(what, which, result);
                world->touch();
                return sg::Value(result);
            };
            return is_effect ? context.runtime().once("work", work) : work();
        };
        return made;
    }
    static void ask(World& world, wf::StepContext& context, const std::string& question) {
        wf::Suspending<std::string, std::string> asks(context);
        const std::string given = asks.suspend(question);
        if (given != "yes to " + question) world.complain(question + " was answered with " + given);
    }

    Random random_;
    SharedWorld world_;
};

class WorkflowHistory final : public History {
public:
    using History::History;

    void run() {
        open();
        call(starting(), anything());
        for (int i = 0; world_->wrong().empty(); ++i) {
            const auto view = observer_->get("r");
            using wf::RunStatus;
            const bool is_over = view.status == RunStatus::success || view.status == RunStatus::failed ||
                                 view.status == RunStatus::canceled;
            if (is_over) break;
            if (i > 200) world_->complain("the run does not come to an end");
            const What what = i < 12 ? anything() : What::none;
            if (i < 12 && last_ && random_.chance(12)) {
                Doing again = *last_;
                again.name += ", once more";
                again.must_fail = true;
                call(again, What::none);
            } else if (view.status == RunStatus::pending) {
                call(starting(), what);
            } else if (!view.questions.empty()) {
                call(answering(view.questions[random_.below(view.questions.size())]), what);
            } else {
                call(restarting(), what);
            }
        }
        if (world_->wrong().empty()) compareEnd();
        close();
    }

private:
    struct Doing {
        std::string name;
        std::string operation;
        json::value body;
        std::function<wf::RunView(const wf::Flow&, const wf::RunOptions&)> run;
        std::optional<sg::TaskId> question = {};
        bool must_fail = false;
    };
    struct Ended {
        std::string error;
        Told told;
        bool is_heard = false;
        std::optional<wf::RunStatus> status = {};
    };

    wf::Flow flowOn(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
        sg::CompileOptions options;
        options.checkpointer = std::move(saver);
        return {WorkflowPlanner(seed_, world_).make("w"), options};
    }
    void open() {
        openSavers();
        flow_.emplace(flowOn(fault_));
        observer_.emplace(flowOn(beside_));
        hub_ = flow_->makeHub();
        if (seed_ % 2 == 0) return;
        server_ = makeServer();
        serve::EndpointOptions options;
        options.protocols = protocols();
        server_->add("w", serve::endpoint(*flow_, options));
    }
    void close() {
        server_.reset();
        hub_.reset();
        flow_.reset();
        observer_.reset();
        closeSavers();
    }

    static Doing starting() {
        return {"start", "start", {{"input", "in"}}, [](const wf::Flow& flow, const wf::RunOptions& options) {
                    return flow.start("r", sg::Value("in"), options);
                }};
    }
    static Doing restarting() {
        return {"restart", "resume", json::object(),
                [](const wf::Flow& flow, const wf::RunOptions& options) { return flow.restart("r", options); }};
    }
    static Doing answering(const wf::QuestionView& question) {
        const std::string answer = "yes to " + question.payload.as<std::string>();
        return {"answer " + question.payload.as<std::string>(),
                "resume",
                {{"data", answer}, {"question", question.id.toString()}},
                [id = question.id, answer](const wf::Flow& flow, const wf::RunOptions& options) {
                    return flow.resume("r", {.question = id}, sg::Value(answer), options);
                },
                question.id};
    }
    std::function<void()> rival() {
        const bool answers = random_.chance(50);
        const auto other = std::make_shared<wf::Flow>(flowOn(place_.openBeside(inner_)));
        return [other, answers] {
            try {
                const auto open = other->get("r").questions;
                if (answers && !open.empty())
                    answering(open[0]).run(*other, {});
                else
                    other->restart("r");
            } catch (const std::exception&) {
                // It was refused, or lost.
            }
        };
    }

    void call(const Doing& doing, What what) {
        if (what == What::abandon) what = What::none;
        const bool is_served = server_ != nullptr && what != What::drain;
        const auto control = !is_served ? std::make_shared<sg::RunControl>() : nullptr;
        tell(doing.name + nameOf(what) + (is_served ? ", served, " : ", ") + protocol_.name);
        const std::string thread = observer_->threadOf("r").toString();
        readCertain(thread);
        const auto arms = [&] {
            const auto cancels = [this] { client::post(server_->port(), "/w/r/cancel", ""); };
            arm(what, control, cancels, [this] { return rival(); });
        };
        Ended ended;
        try {
            if (is_served) {
                arms();
                const auto response =
                    client::post(server_->port(), "/w/r/" + doing.operation + "?protocol=" + protocol_.name,
                                 json::serialize(doing.body));
                if (response.status != 200) {
                    ended.error = response.body;
                } else {
                    for (const json::object& line : response.objects()) ended.told.read(protocol_.name, line);
                    // The response reports a refusal that comes after its beginning.
                    ended.is_heard = !doing.must_fail;
                    if (doing.must_fail) ended.error = ended.told.error;
                }
            } else {
                Listener listener(*hub_, thread, protocol_);
                arms();
                wf::RunOptions options;
                if (what == What::stop || what == What::drain) options.control = control;
                options.hub = hub_.get();
                options.durability = random_.chance(50) ? sg::Durability::sync : sg::Durability::async;
                try {
                    ended.status = doing.run(*flow_, options).status;
                } catch (const std::exception& error) {
                    ended.error = error.what();
                }
                ended.told = listener.heard();
                ended.is_heard = ended.error.empty();
            }
        } catch (const std::exception& error) {
            if (fault_->failures() == 0) world_->complain(std::string("a response broke off: ") + error.what());
            ended.error = error.what();
            ended.is_heard = false;
        }
        end(doing, what, ended);
    }

    void end(const Doing& doing, What what, const Ended& ended) {
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
        readCertain(observer_->threadOf("r").toString());
        const wf::RunView view = observer_->get("r");
        tell(std::string("    ") + wf::toString(view.status) + ", asks " + std::to_string(view.questions.size()) +
             "\n");
        compareLog(view);
        const bool is_calm = !is_dead && !(has_happened && what == What::rival);
        if (is_calm && ended.is_heard) compareStream(view, ended, has_happened);
        if (doing.must_fail) {
            if (ended.error.empty()) world_->complain("an answer that was given before is taken again");
        } else if (doing.question && is_calm && ended.error.empty()) {
            last_ = doing;
            for (const wf::QuestionView& open : view.questions) {
                if (open.id == *doing.question) world_->complain("an answered question is open again");
            }
        } else if (!ended.error.empty() && is_calm && !has_happened) {
            world_->complain("an error that nobody made: " + ended.error);
        }
        if (!world_->wrong().empty()) tell(ended.told.all + observer_->snapshot("r") + "\n");
    }
    void compareLog(const wf::RunView& view) {
        for (const auto& [path, step] : view.steps) compareStep(path, step);
        if (view.status == wf::RunStatus::failed && !has(view.error, "boom"))
            world_->complain("the run failed with " + view.error);
    }
    void compareStep(const std::string& path, const wf::StepView& step) {
        if (step.status != wf::StepStatus::success || !step.output) return;
        for (const std::string& text : textsIn(*step.output)) {
            bool is_there = !text.starts_with("did ");
            for (const auto& [what, executions] : world_->journal()) {
                is_there = is_there || std::any_of(executions.begin(), executions.end(),
                                                   [&](const Execution& each) { return each.result == text; });
            }
            if (!is_there) world_->complain("the log has of " + path + " what never happened: " + text);
        }
    }
    static std::vector<std::string> textsIn(const sg::Value& value) {
        std::vector<std::string> texts;
        const auto walk = [&](const auto& self, const json::value& each) -> void {
            if (each.is_string()) texts.emplace_back(each.get_string());
            if (each.is_array())
                for (const json::value& element : each.get_array()) self(self, element);
            if (each.is_object())
                for (const auto& member : each.get_object()) self(self, member.value());
        };
        walk(walk, json::parse(value.toJson()));
        return texts;
    }
    void compareStream(const wf::RunView& view, const Ended& ended, bool has_happened) {
        static const std::map<wf::RunStatus, std::string> endings{{wf::RunStatus::success, "done"},
                                                                  {wf::RunStatus::failed, "failed"},
                                                                  {wf::RunStatus::suspended, "interrupted"},
                                                                  {wf::RunStatus::canceled, "cancelled"}};
        const std::string& told = ended.told.status;
        if (ended.status && *ended.status != view.status && !has_happened)
            world_->complain(std::string("the caller is told ") + wf::toString(*ended.status));
        const auto expected = endings.find(view.status);
        const bool is_over = view.status == wf::RunStatus::success || view.status == wf::RunStatus::failed;
        if (expected != endings.end() && (is_over || !has_happened) && told != expected->second)
            world_->complain(std::string("the log says ") + wf::toString(view.status) + ", and the stream " + told);
        if (told == "done" && view.status != wf::RunStatus::success)
            world_->complain(std::string("a run is told as done that is ") + wf::toString(view.status));
        if (view.status == wf::RunStatus::failed && !has(ended.told.error, "boom"))
            world_->complain("the stream has not told why the run failed");
        if (isFailed() != (view.status == wf::RunStatus::failed))
            world_->complain("the list of threads and the run differ in whether it failed");
        if (told != "interrupted") return;
        for (const wf::QuestionView& open : view.questions) {
            if (!ended.told.questions.contains(open.id.toString()))
                world_->complain("the stream has not told the question of " + open.path);
        }
    }
    void compareEnd() {
        const auto view = observer_->get("r");
        if (view.status == wf::RunStatus::canceled) return;
        for (const auto& [what, executions] : world_->journal()) {
            const auto ended = std::count_if(executions.begin(), executions.end(),
                                             [](const Execution& each) { return !each.result.empty(); });
            if (ended > 1 + disturbed_) world_->complain(what + " was executed " + std::to_string(ended) + " times");
        }
    }

    std::optional<wf::Flow> flow_, observer_;
    std::unique_ptr<sg::StreamHub> hub_;
    std::unique_ptr<serve::Server> server_;
    std::optional<Doing> last_;
};

}  // namespace books
