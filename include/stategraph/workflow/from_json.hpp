#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <stategraph/workflow/definition.hpp>

// Workflows that are loaded from JSON, for programs whose workflows are files. docs/workflows_from_json.md has the
// grammar. This is a separate library, stategraph::workflow_json.
namespace stategraph::workflow {

/// What workflows from JSON may use, because their text may come from somebody else.
struct JsonLimits {
    /// The largest value that a template makes and that a step takes, about as it is stored; of more than eight steps
    /// in parallel, each takes less, and of more than eight elements of a foreach, each gives less. So that a run keeps
    /// no more than sixteen of them, they are smaller in a workflow with more entries; the turns of a loop give no more
    /// than sixteen of them, and a condition compares with no more than eight. More is an error of its entry.
    std::size_t value_bytes_max = std::size_t{512} << 10U;
    /// How often the body of a loop may run; of a loop inside of a loop or a foreach a tenth, inside of two a
    /// hundredth, and at least once. It is an error of the loop to need more.
    std::int64_t iterations_max = 1000;
};

/// What a program offers to workflows from JSON, by the names that they use.
struct Functions {
    std::map<std::string, Execute> steps = {};
    std::map<std::string, Condition> conditions = {};
    std::map<std::string, Transform> maps = {};
    JsonLimits limits = {};
};

/// Reads the definition in a JSON text, which is run as `Flow(fromJson(text, functions))`. The functions are copied.
/// Errors: InvalidGraphError that lists every fault of the text with its place.
Definition fromJson(std::string_view text, const Functions& functions);

/// A check by a JSON Schema (drafts 4 to 2020-12; references within the schema alone). A value that passes gets the
/// `default`s of properties that it lacks. The check throws InvalidArgumentError that lists what is wrong and where.
/// Safe from any thread. Errors: InvalidArgumentError for a text that is not a JSON Schema, and for keywords that are
/// not checked.
Check schemaCheck(std::string_view schema);

/// A map that fills in a template: JSON in which `{"$": "steps.price.total"}` is replaced by the value at that path,
/// and `${input.name}` within a text by its text. Paths begin with input, init, state, context, steps or iteration; a
/// path that leads nowhere gives null, and inside a text an empty text. Errors: InvalidArgumentError for a text that is
/// not JSON, and for a path that begins otherwise. The map throws it for a value that is larger than JsonLimits allows.
Transform fromTemplate(std::string_view json);

/// A condition: `{"path": "input.total", "gt": 100}` with eq, ne, lt, le, gt, ge, in and exists; `{"all": […]}`,
/// `{"any": […]}`, `{"not": …}`. The operand may be a template. Errors: InvalidArgumentError for anything else. The
/// condition throws it if lt, le, gt or ge compares anything but two numbers or two texts.
Condition fromPredicate(std::string_view json);

}  // namespace stategraph::workflow
