#include <string>

#include "inspect/commands.hpp"
#include "inspect/condition.hpp"
#include "inspect/first_step.hpp"

// find: shows the first checkpoint of a thread at which a condition over the state holds.
namespace stategraph::inspect {

Exit findStep(Call& call) {
    const Condition condition(call.place(1));
    const std::size_t limit = call.arguments.number("--limit", 10'000, 1);
    if (limit > first_step_limit_max)
        throw UsageError{"--limit takes a number up to " + std::to_string(first_step_limit_max)};
    const Config newest = findCheckpoint(call.saver, call.arguments, call.place(0));
    const FirstStepSearch search = findFirstStep(call.saver, newest, condition, {.checkpoints = limit});
    const std::string older = search.is_cut ? "; older ones were not looked at: --limit N looks at N" : "";
    if (!search.found) {
        throw NotFound{"the condition holds at none of the " + std::to_string(search.looked_at) + " checkpoints of '" +
                       call.place(0) + "'" + older};
    }
    const FirstStep& found = *search.found;
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(found) << '\n';
        return Exit::done;
    }
    std::string who;
    for (const std::string& name : found.ran) who += (who.empty() ? "" : ", ") + plain(name);
    out << "step " << found.step << "  " << found.checkpoint_id << "  "
        << call.terminal.in(Colour::dim, found.created_at) << "  "
        << call.terminal.in(Colour::bold, who.empty() ? found.source : who) << '\n';
    for (const auto& [path, value] : found.values) {
        const auto before = found.before.find(path);
        std::string line = plain(path) + "  ";
        if (before != found.before.end() && before->second != value) line += plain(before->second.toJson()) + " → ";
        out << call.terminal.fit(line + plain(value.toJson()), 0) << '\n';
    }
    if (search.is_cut && search.looked_at == 1)
        out << call.terminal.in(Colour::yellow, "it may have held before" + older) << '\n';
    return Exit::done;
}

}  // namespace stategraph::inspect
