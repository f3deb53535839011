#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/workflow/workflow.hpp>

// Entries and steps of definitions that tests build by hand.
namespace definitions {

namespace wf = stategraph::workflow;

inline wf::Entry then(wf::Step step) { return {.kind = wf::Entry::Kind::then, .steps = {std::move(step)}}; }
/// A step that returns its input and 1.
inline wf::Step inc(std::string id) {
    return {.id = std::move(id), .execute = [](const stategraph::Value& in, wf::StepContext&) {
                return stategraph::Value(in.as<int>() + 1);
            }};
}
/// A step that is a workflow of these entries.
inline wf::Step inside(std::string id, std::vector<wf::Entry> entries) {
    return {.id = id,
            .workflow = std::make_shared<wf::Definition>(wf::Definition{.id = id, .entries = std::move(entries)})};
}

}  // namespace definitions
