#include "json/schema/levels.hpp"

#include <algorithm>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::schema {
namespace {

constexpr std::size_t levels_max = 600;

/// Whether a rule applies its schemas to the value itself, and not to parts of it.
bool isForSameValue(Word word) {
    switch (word) {
        case Word::all_of:
        case Word::any_of:
        case Word::one_of:
        case Word::none_of:
        case Word::conditional:
            return true;
        default:
            return false;
    }
}

std::vector<std::size_t> appliedBy(const Node& node) {
    std::vector<std::size_t> applied;
    for (const Rule& rule : node.rules) {
        if (!isForSameValue(rule.word)) continue;
        for (const Child& child : rule.children) {
            if (child.schema != no_schema) applied.push_back(child.schema);
        }
    }
    return applied;
}

/// Whether a schema is a reference and nothing more.
bool isReference(const Node& node) {
    return node.rules.size() == 1 && node.rules.front().word == Word::all_of &&
           node.rules.front().children.size() == 1 && !node.rules.front().only_with;
}

[[noreturn]] void refuseEndless() { throw InvalidArgumentError("a reference leads back to itself without end"); }

/// Goes through all schemas without recursion, and counts how many levels are below each.
void checkLevels(const Schema& schema) {
    enum class State : unsigned char { untouched, open, done };
    struct Open {
        std::size_t node;
        std::vector<std::size_t> left;
        std::size_t levels = 0;
    };
    std::vector<State> states(schema.nodes.size(), State::untouched);
    std::vector<std::size_t> levels(schema.nodes.size(), 0);
    for (std::size_t begin = 0; begin < schema.nodes.size(); ++begin) {
        if (states[begin] == State::done) continue;
        std::vector<Open> open;
        open.push_back({begin, appliedBy(schema.nodes[begin])});
        states[begin] = State::open;
        while (!open.empty()) {
            Open& top = open.back();
            if (top.left.empty()) {
                const std::size_t done = top.node;
                levels[done] = top.levels + 1;
                if (levels[done] > levels_max) {
                    throw InvalidArgumentError("the schema's references lead more than " + std::to_string(levels_max) +
                                               " levels deep for one value");
                }
                states[done] = State::done;
                open.pop_back();
                if (!open.empty()) open.back().levels = std::max(open.back().levels, levels[done]);
                continue;
            }
            const std::size_t next = top.left.back();
            top.left.pop_back();
            if (states[next] == State::open) refuseEndless();
            if (states[next] == State::done) {
                top.levels = std::max(top.levels, levels[next]);
            } else {
                states[next] = State::open;
                open.push_back({next, appliedBy(schema.nodes[next])});
            }
        }
    }
}

/// The schema that each schema's references lead to at last, which for most is itself.
std::vector<std::size_t> endsOf(const Schema& schema) {
    std::vector<std::size_t> ends(schema.nodes.size(), no_schema);
    for (std::size_t begin = 0; begin < ends.size(); ++begin) {
        std::vector<std::size_t> way;
        std::size_t at = begin;
        while (ends[at] == no_schema && isReference(schema.nodes[at])) {
            if (way.size() == ends.size()) refuseEndless();
            way.push_back(at);
            at = schema.nodes[at].rules.front().children.front().schema;
        }
        const std::size_t end = ends[at] != no_schema ? ends[at] : at;
        ends[at] = end;
        for (const std::size_t each : way) ends[each] = end;
    }
    return ends;
}

}  // namespace

void linkSchemas(Schema& schema) {
    const std::vector<std::size_t> ends = endsOf(schema);
    std::vector<std::size_t> ways(schema.nodes.size(), 0);
    schema.root = ends[schema.root];
    ++ways[schema.root];
    for (Node& node : schema.nodes) {
        const std::size_t counts = isReference(node) ? 0 : 1;  // nobody goes over references any more
        for (Rule& rule : node.rules) {
            for (Child& child : rule.children) {
                if (child.schema == no_schema) continue;
                child.schema = ends[child.schema];
                ways[child.schema] += counts;
            }
        }
    }
    for (std::size_t i = 0; i < schema.nodes.size(); ++i) schema.nodes[i].is_shared = ways[i] > 1;
    checkLevels(schema);
}

}  // namespace stategraph::schema
