#include "tests/workflow_conformance/events.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace workflow_conformance {
namespace {

using Events = std::vector<json::value>;

std::string pathOf(const json::value& event) {
    const json::array& parts = event.as_array();
    return parts.size() > 1 && parts[0] != "finish" ? text(parts[1]) : std::string();
}

/// The blocks of a workflow at every level: the prefix of the workflow, and the number of the entry in it.
class Blocks {
public:
    using Place = std::pair<std::string, std::size_t>;

    Blocks(const json::object& workflow, const std::string& prefix = "") { add(workflow, prefix); }

    /// null for a step that is not a member of a block.
    const Place* of(const std::string& path) const {
        const auto found = members_.find(path);
        return found != members_.end() ? &found->second : nullptr;
    }
    bool isInsideRepeated(const std::string& path) const {
        return std::any_of(repeated_.begin(), repeated_.end(),
                           [&](const auto& step) { return path.starts_with(step + "."); });
    }

private:
    void add(const json::object& workflow, const std::string& prefix) {
        const json::array& entries = get(workflow, "entries").as_array();
        for (std::size_t number = 0; number < entries.size(); ++number) {
            const json::object& entry = entries[number].as_object();
            for (const auto& id : conformance::names(get(entry, "parallel"))) members_[prefix + id] = {prefix, number};
            if (const json::array* branch = get(entry, "branch").if_array()) {
                for (const auto& each : *branch)
                    members_[prefix + text(get(each.as_object(), "step"))] = {prefix, number};
            }
            if (const json::value* step = entry.if_contains("foreach")) repeated_.insert(prefix + text(*step));
        }
        for (const auto& step : get(workflow, "steps").as_object()) {
            const json::value& nested = get(step.value().as_object(), "workflow");
            if (nested.is_object()) add(nested.get_object(), prefix + std::string(step.key()) + ".");
        }
    }

    std::map<std::string, Place> members_;
    std::set<std::string> repeated_;
};

// Adjacent progress events may come in any order.
void addWithProgress(const Events& events, Events& into) {
    Events progress;
    const auto flush = [&] {
        order(progress);
        into.insert(into.end(), progress.begin(), progress.end());
        progress.clear();
    };
    for (const json::value& event : events) {
        if (event.as_array().at(0) == "step-progress") {
            progress.push_back(event);
            continue;
        }
        flush();
        into.push_back(event);
    }
    flush();
}

class Settler {
public:
    explicit Settler(const Blocks& blocks) : blocks_(blocks) {}

    /// `depth` is the number of names in a path that distinguish steps at this level.
    Events settle(const Events& events, std::size_t depth) const {
        Events result;
        for (std::size_t begin = 0; begin < events.size();) {
            const std::string id = idAt(events[begin], depth);
            const Blocks::Place* block = blocks_.of(id);
            std::size_t end = begin;
            std::map<std::string, Events> members;
            for (; end < events.size(); ++end) {
                const std::string other = idAt(events[end], depth);
                const Blocks::Place* place = blocks_.of(other);
                if (block != nullptr ? place != block && (place == nullptr || *place != *block) : other != id) break;
                members[other].push_back(events[end]);
            }
            for (const auto& [member, own] : members) settleOne(member, own, depth, result);
            begin = end;
        }
        return result;
    }

private:
    static std::string idAt(const json::value& event, std::size_t depth) {
        const std::string path = pathOf(event);
        std::size_t end = path.find('.');
        for (std::size_t names = 1; names < depth && end != std::string::npos; ++names) end = path.find('.', end + 1);
        return path.substr(0, end);
    }

    void settleOne(const std::string& id, const Events& events, std::size_t depth, Events& into) const {
        const bool inside =
            std::any_of(events.begin(), events.end(), [&](const auto& event) { return pathOf(event) != id; });
        addWithProgress(inside ? settle(events, depth + 1) : events, into);
    }

    const Blocks& blocks_;
};

}  // namespace

json::array settled(const json::array& events, const json::object& workflow) {
    const Blocks blocks(workflow);
    Events shown;
    for (const json::value& event : events) {
        if (!blocks.isInsideRepeated(pathOf(event))) shown.push_back(event);
    }
    const Events sorted = Settler(blocks).settle(shown, 1);
    return json::array(sorted.begin(), sorted.end());
}

}  // namespace workflow_conformance
