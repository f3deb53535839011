#include "tests/conformance/actions.hpp"

#include <algorithm>
#include <stdexcept>

namespace conformance {

sg::Update<sg::JsonState> updateOf(const json::value& values, const std::set<std::string>& channels) {
    sg::Update<sg::JsonState> update;
    if (const json::object* object = values.if_object()) {
        for (const auto& entry : *object) {
            std::string name(entry.key());
            if (channels.contains(name)) update.write(std::move(name), entry.value());
        }
    }
    return update;
}

NodeCall::NodeCall(const GraphPlace& place, World& world, const json::value& input, sg::Runtime& runtime)
    : place_(place), world_(world), runtime_(runtime), environment_{.input = &input} {
    world.ran(place.ns, runtime.node(), runtime.step(), input);
}

sg::Command<sg::JsonState> NodeCall::perform(const json::value& actions) {
    performAll(actions);
    // Names that are no channels of the addressed graph are left out, as the reference does.
    const GraphPlace& addressed = to_parent_ && place_.parent != nullptr ? *place_.parent : place_;
    sg::Command<sg::JsonState> command;
    for (Written& each : written_) {
        if (!addressed.channels.contains(each.channel)) continue;
        if (each.overwrites) {
            command.update.overwrite(std::move(each.channel), std::move(each.value));
        } else {
            command.update.write(std::move(each.channel), std::move(each.value));
        }
    }
    command.go_to = std::move(go_to_);
    if (to_parent_) command.graph = sg::PARENT;
    return command;
}

void NodeCall::performAll(const json::value& actions) {
    const json::array* list = actions.if_array();
    if (list == nullptr) return;
    for (const json::value& action : *list) performOne(action.as_object());
}

void NodeCall::performOne(const json::object& action) {
    if (const json::value* values = action.if_contains("write")) {
        write(values->as_object(), false);
    } else if (const json::value* replaced = action.if_contains("overwrite")) {
        write(replaced->as_object(), true);
    } else if (const json::value* question = action.if_contains("interrupt")) {
        const json::value answer = sg::interrupt<json::value>(runtime_, evaluate(*question, environment_));
        if (const json::value& into = get(action, "into"); into.is_string())
            environment_.variables[text(into)] = answer;
    } else if (const json::value* failure = action.if_contains("fail")) {
        const json::object& how = failure->as_object();
        if (world_.fails(place_.ns, runtime_.node(), get(how, "times").to_number<std::int64_t>())) {
            throw std::runtime_error(text(get(how, "message")));
        }
    } else if (const json::value* targets = action.if_contains("goto")) {
        for (const json::value& target : targets->as_array()) go_to_.add(evaluateTarget(target, environment_));
        to_parent_ = to_parent_ || get(action, "graph") == "parent";
    } else if (const json::value* condition = action.if_contains("if")) {
        performAll(get(action, isTrue(evaluate(*condition, environment_)) ? "then" : "else"));
    } else if (const json::value* data = action.if_contains("custom")) {
        runtime_.write(evaluate(*data, environment_));
    } else if (const json::value* reason = action.if_contains("drain")) {
        world_.drain(text(*reason));
    } else {
        throw std::invalid_argument("no such action: " + json::serialize(action));
    }
}

// A later write of the same node to the same channel replaces the earlier one, because a node returns one object.
void NodeCall::write(const json::object& values, bool overwrites) {
    for (const auto& entry : values) {
        Written made{std::string(entry.key()), evaluate(entry.value(), environment_), overwrites};
        const auto same =
            std::find_if(written_.begin(), written_.end(), [&](const Written& w) { return w.channel == made.channel; });
        if (same == written_.end()) {
            written_.push_back(std::move(made));
        } else {
            *same = std::move(made);
        }
    }
}

}  // namespace conformance
