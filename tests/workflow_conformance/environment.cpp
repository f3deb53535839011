#include "tests/workflow_conformance/environment.hpp"

#include <stdexcept>
#include <utility>

namespace workflow_conformance {
namespace {

std::string_view takeName(std::string_view& path) {
    const std::size_t end = path.find('.');
    const std::string_view name = path.substr(0, end);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
    return name;
}

json::value decoded(const sg::Value* value) { return value != nullptr ? sg::toJsonValue(*value) : json::value(); }

}  // namespace

json::value Environment::root(std::string_view name) const {
    if (name == "input") return sg::toJsonValue(scope_.input());
    if (name == "init") return sg::toJsonValue(scope_.init());
    if (name == "state") return jsonOf(scope_.state());
    if (name == "resume") return step_ != nullptr ? decoded(step_->resumeData()) : json::value();
    if (name == "suspended") {
        const bool resumed = step_ != nullptr && step_->resumeData() != nullptr;
        return resumed ? decoded(step_->suspendData()) : json::value();
    }
    if (name == "attempt") return step_ != nullptr ? json::value(step_->attempt() - 1) : json::value();
    if (name == "iteration")
        return step_ == nullptr && scope_.iteration() > 0 ? json::value(scope_.iteration()) : json::value();
    throw std::invalid_argument("expressions cannot read '" + std::string(name) + "'");
}

json::value Environment::at(std::string_view path) const {
    const std::string_view name = takeName(path);
    json::value value;
    if (name == "steps" && !path.empty()) {
        value = decoded(scope_.output(takeName(path)));
    } else if (name == "state" && !path.empty()) {
        const auto found = scope_.state().find(std::string(takeName(path)));
        value = decoded(found != scope_.state().end() ? &found->second : nullptr);
    } else {
        value = root(name);
    }
    while (!path.empty()) {
        const json::object* object = value.if_object();
        const json::value* member = object != nullptr ? object->if_contains(takeName(path)) : nullptr;
        if (member == nullptr) return nullptr;
        json::value inner = *member;  // a copy, because the assignment replaces `value`, which contains it
        value = std::move(inner);
    }
    return value;
}

}  // namespace workflow_conformance
