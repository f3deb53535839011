#include <chrono>

#include "inspect/commands.hpp"
#include "inspect/lanes.hpp"
#include "inspect/supersteps.hpp"
#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

// What is due, after an arrow.
std::string dueOf(const TimelineEntry& entry) {
    if (!entry.damaged.empty()) return "damaged: " + plain(entry.damaged);
    if (entry.is_sealed) return entry.next.empty() ? "encrypted" : "encrypted, something is due";
    std::string text;
    for (const auto& next : entry.next) text += (text.empty() ? "→ " : ", ") + plain(next);
    if (text.empty()) text = "nothing is due";
    if (entry.open_questions > 0) text += "  ? " + std::to_string(entry.open_questions);
    if (!entry.error.empty()) text += "  ! " + plain(entry.error);
    return text;
}

// The tasks that ran, each with its time, and the channels that they wrote.
std::string ranOf(const CheckpointView& view) {
    std::string text;
    for (const StepTaskView& task : view.ran) {
        text += (text.empty() ? "" : ", ") + plain(task.name);
        if (task.took_us) text += " " + durationText(std::chrono::microseconds(*task.took_us));
        if (task.attempts > 1) text += " (" + std::to_string(task.attempts) + " attempts)";
    }
    if (view.ran_count > view.ran.size()) text += " and " + std::to_string(view.ran_count - view.ran.size()) + " more";
    if (view.supersteps > 1) text = std::to_string(view.supersteps) + " supersteps";
    std::string wrote;
    for (const WrittenView& written : view.wrote) wrote += (wrote.empty() ? "" : ", ") + plain(written.channel);
    if (!wrote.empty()) text += (text.empty() ? "wrote " : "; wrote ") + wrote;
    return text.empty() ? "" : text + "  ";
}

Colour colourOf(const TimelineEntry& entry) {
    if (!entry.damaged.empty() || !entry.error.empty()) return Colour::red;
    return entry.open_questions > 0 ? Colour::yellow : Colour::none;
}

// A shorter time between two checkpoints is not shown.
constexpr std::chrono::seconds idle_min{30};

// Returns how long nothing happened before a checkpoint: the time since the one before it in the log, without the time
// that its superstep took.
std::chrono::system_clock::duration idleBefore(const TimelineEntry& entry, const TimelineEntry& older) {
    return entry.created_at - older.created_at - entry.took.value_or(std::chrono::microseconds(0));
}

void print(Call& call, const std::vector<Superstep>& rows, bool graph) {
    Lanes lanes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const TimelineEntry& entry = rows[i].entry;
        Lanes::Drawn drawn;
        if (graph) drawn = lanes.next(entry.id, entry.parent);
        for (const auto& line : drawn.above) call.terminal.out() << line << '\n';
        std::string step = entry.is_sealed || !entry.damaged.empty() ? "?" : std::to_string(entry.step);
        step.insert(0, step.size() < 4 ? 4 - step.size() : 0, ' ');
        std::string source = entry.is_sealed ? "" : toString(entry.source);
        source.resize(7, ' ');
        std::string size = sizeText(entry.commit_bytes + entry.writes_bytes);
        size.insert(0, size.size() < 9 ? 9 - size.size() : 0, ' ');
        const std::size_t used = drawn.prefix.size() + 4 + 2 + 36 + 2 + 24 + 2 + 7 + 9 + 2;
        call.terminal.out() << drawn.prefix << step << "  " << call.terminal.in(Colour::dim, entry.id.toString())
                            << "  " << timeText(entry.created_at) << "  " << source << size << "  "
                            << call.terminal.in(colourOf(entry),
                                                call.terminal.fit(ranOf(viewOf(rows[i])) + dueOf(entry), used))
                            << '\n';
        if (!graph || i + 1 == rows.size()) continue;
        const auto idle = idleBefore(entry, rows[i + 1].entry);
        if (idle > idle_min)
            call.terminal.out() << lanes.bars() << "      " << call.terminal.in(Colour::dim, ageText(idle) + " idle")
                                << '\n';
    }
}

}  // namespace

Exit showLog(Call& call) {
    const Config place = findPlace(call.saver, call.arguments, call.place(0));
    SuperstepQuery query{.limit = call.arguments.number("--limit", 100, 1),
                         .node = call.arguments.value("--node").value_or(""),
                         .status = call.arguments.value("--status").value_or(""),
                         .text = call.arguments.value("--text").value_or(""),
                         .entries_max = SIZE_MAX,
                         .tasks_max = SIZE_MAX,
                         .bytes_max = SIZE_MAX};
    const bool selects = !query.node.empty() || !query.status.empty() || !query.text.empty();
    const bool graph = call.arguments.has("--graph");
    if (selects && graph) throw UsageError{"--graph draws a whole log; it goes without --node, --status and --text"};
    // If the place names a checkpoint, the log begins with that checkpoint.
    if (const CheckpointId id = place.checkpoint_id) query.before = justAfter(id);
    const SuperstepPage page = readSupersteps(call.saver, place, query);
    if (page.rows.empty())
        throw NotFound{"thread '" + place.thread_id.toString() + "' has no " + (selects ? "such " : "") +
                       "checkpoints"};
    if (call.asJson()) {
        std::vector<CheckpointView> views;
        for (const auto& row : page.rows) views.push_back(viewOf(row));
        call.terminal.out() << toJson(views) << '\n';
        return Exit::done;
    }
    print(call, page.rows, graph);
    const CheckpointId parent = page.rows.back().entry.parent;
    if (page.next && parent) {
        call.terminal.out() << call.terminal.in(Colour::dim, "… older ones: --limit, or log " +
                                                                 plain(place.thread_id.toString()) + "@" +
                                                                 parent.toString())
                            << '\n';
    }
    return Exit::done;
}

}  // namespace stategraph::inspect
