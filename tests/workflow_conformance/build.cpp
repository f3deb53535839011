#include "tests/workflow_conformance/build.hpp"

#include <stdexcept>

#include "tests/workflow_conformance/actions.hpp"
#include "tests/workflow_conformance/schema.hpp"

namespace workflow_conformance {
namespace {

using Kind = flow::Entry::Kind;

sg::RetryPolicy retries(const json::value& count) {
    const int more = count.is_null() ? 0 : count.to_number<int>();
    return {.max_attempts = more + 1, .initial_interval = std::chrono::milliseconds(0), .jitter = false};
}

/// Builds one workflow, the outermost or a nested one. The result refers to the scenario, which the process keeps.
class Builder {
public:
    Builder(std::shared_ptr<Process> process, const json::object& spec) : process_(std::move(process)), spec_(spec) {}

    flow::Definition definition(std::string id) const {
        flow::Definition made{.id = std::move(id)};
        for (const json::value& entry : get(spec_, "entries").as_array())
            made.entries.push_back(entryOf(entry.as_object()));
        made.input = checkOf(get(spec_, "input"));
        made.state = checkOf(get(spec_, "state"));
        const json::object* retry = get(spec_, "retry").if_object();
        made.retry = retries(retry != nullptr ? get(*retry, "attempts") : json::value());
        return made;
    }

private:
    flow::Entry entryOf(const json::object& entry) const {
        if (const json::value* step = entry.if_contains("then")) return {.kind = Kind::then, .steps = {stepOf(*step)}};
        if (const json::value* members = entry.if_contains("parallel")) return parallel(members->as_array());
        if (const json::value* members = entry.if_contains("branch")) return branch(members->as_array());
        if (entry.contains("dowhile")) return loop(Kind::dowhile, entry, "dowhile");
        if (entry.contains("dountil")) return loop(Kind::dountil, entry, "dountil");
        if (const json::value* step = entry.if_contains("foreach")) {
            const json::value& concurrency = get(entry, "concurrency");
            return {.kind = Kind::foreach,
                    .steps = {stepOf(*step)},
                    .concurrency = concurrency.is_null() ? 1 : concurrency.to_number<int>()};
        }
        if (const json::value* value = entry.if_contains("map")) return computed(Kind::map, entry, *value);
        if (const json::value* time = entry.if_contains("sleep")) return computed(Kind::sleep, entry, *time);
        throw std::runtime_error("no such entry: " + json::serialize(entry));
    }

    flow::Entry parallel(const json::array& members) const {
        flow::Entry made{.kind = Kind::parallel};
        for (const json::value& id : members) made.steps.push_back(stepOf(id));
        return made;
    }

    flow::Entry branch(const json::array& members) const {
        flow::Entry made{.kind = Kind::branch};
        for (const json::value& each : members) {
            const json::object& member = each.as_object();
            made.steps.push_back(stepOf(get(member, "step")));
            made.conditions.push_back(conditionOf(get(member, "when")));
        }
        return made;
    }

    flow::Entry loop(Kind kind, const json::object& entry, std::string_view body) const {
        return {.kind = kind, .steps = {stepOf(get(entry, body))}, .conditions = {conditionOf(get(entry, "when"))}};
    }

    flow::Entry computed(Kind kind, const json::object& entry, const json::value& expression) const {
        const auto transform = [process = process_, &expression](const flow::Scope& scope) {
            return sg::fromJson(evaluate(expression, Environment(scope)));
        };
        return {.kind = kind, .id = text(get(entry, "id")), .transform = transform};
    }

    flow::Condition conditionOf(const json::value& expression) const {
        return [process = process_, &expression](const flow::Scope& scope) {
            return isTrue(evaluate(expression, Environment(scope)));
        };
    }

    flow::Step stepOf(const json::value& id) const {
        flow::Step made{.id = text(id)};
        const json::object& step = get(spec_, "steps").as_object().at(made.id).as_object();
        if (const json::value* nested = step.if_contains("workflow")) {
            made.workflow =
                std::make_shared<const flow::Definition>(Builder(process_, nested->as_object()).definition(made.id));
        } else {
            made.execute = executeOf(get(step, "execute"));
        }
        made.input = checkOf(get(step, "input"));
        made.resume = checkOf(get(step, "resume"));
        made.suspend = checkOfQuestion(get(step, "suspend"));
        made.state = checkOf(get(step, "state"));
        if (const json::value* count = step.if_contains("retries")) made.retry = retries(*count);
        return made;
    }

    flow::Execute executeOf(const json::value& actions) const {
        return [process = process_, &actions](const sg::Value& input, flow::StepContext& context) {
            return StepCall(*process, input, context).perform(actions);
        };
    }

    std::shared_ptr<Process> process_;
    const json::object& spec_;
};

}  // namespace

flow::Definition build(const std::shared_ptr<Process>& process) {
    const json::object& spec = process->world().workflow();
    return Builder(process, spec).definition(text(get(spec, "id")));
}

}  // namespace workflow_conformance
