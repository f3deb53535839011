#include <chrono>

#include "inspect/commands.hpp"
#include "inspect/lanes.hpp"
#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

std::string summaryOf(const TimelineEntry& entry) {
    if (!entry.damaged.empty()) return "damaged: " + plain(entry.damaged);
    std::string text;
    if (entry.is_sealed) {
        text = entry.next.empty() ? "encrypted" : "encrypted, something is due";
    } else {
        for (const auto& next : entry.next) text += (text.empty() ? "→ " : ", ") + plain(next);
        if (text.empty()) text = "nothing is due";
    }
    if (entry.open_questions > 0) text += "  ? " + std::to_string(entry.open_questions);
    if (!entry.error.empty()) text += "  ! " + plain(entry.error);
    return text;
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

void print(Call& call, const std::vector<TimelineEntry>& entries, bool graph) {
    Lanes lanes;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const TimelineEntry& entry = entries[i];
        Lanes::Drawn drawn;
        if (graph) drawn = lanes.next(entry.id, entry.parent);
        for (const auto& line : drawn.above) call.terminal.out() << line << '\n';
        std::string step = entry.is_sealed || !entry.damaged.empty() ? "?" : std::to_string(entry.step);
        step.insert(0, step.size() < 4 ? 4 - step.size() : 0, ' ');
        std::string source = entry.is_sealed ? "" : toString(entry.source);
        source.resize(7, ' ');
        std::string size = sizeText(entry.commit_bytes + entry.writes_bytes);
        size.insert(0, size.size() < 9 ? 9 - size.size() : 0, ' ');
        std::string took = entry.next_took ? durationText(*entry.next_took) : "";
        const std::size_t took_columns = took.size() - (took.ends_with("µs") ? 1 : 0);
        took.insert(0, took_columns < 10 ? 10 - took_columns : 0, ' ');
        const std::size_t used = drawn.prefix.size() + 4 + 2 + 36 + 2 + 24 + 2 + 7 + 10 + 9 + 2;
        call.terminal.out() << drawn.prefix << step << "  " << call.terminal.in(Colour::dim, entry.id.toString())
                            << "  " << timeText(entry.created_at) << "  " << source << took << size << "  "
                            << call.terminal.in(colourOf(entry), call.terminal.fit(summaryOf(entry), used)) << '\n';
        if (!graph || i + 1 == entries.size()) continue;
        const auto idle = idleBefore(entry, entries[i + 1]);
        if (idle > idle_min)
            call.terminal.out() << lanes.bars() << "      " << call.terminal.in(Colour::dim, ageText(idle) + " idle")
                                << '\n';
    }
}

}  // namespace

Exit showLog(Call& call) {
    const Config place = findPlace(call.saver, call.arguments, call.place(0));
    const std::size_t limit = call.arguments.number("--limit", 100, 1);
    TimelineQuery query{.before = {}, .limit = limit};
    // If the place names a checkpoint, the log begins with that checkpoint.
    if (const CheckpointId id = place.checkpoint_id) query.before = CheckpointId(id.high(), id.low() + 1);
    const auto entries = readTimeline(call.saver, place, query);
    if (entries.empty()) throw NotFound{"thread '" + place.thread_id.toString() + "' has no checkpoints"};
    if (call.asJson()) {
        std::vector<CheckpointView> views;
        for (const auto& entry : entries) views.push_back(viewOf(entry));
        call.terminal.out() << toJson(views) << '\n';
    } else {
        print(call, entries, call.arguments.has("--graph"));
        if (entries.size() == limit && !entries.back().parent.empty()) {
            call.terminal.out() << call.terminal.in(Colour::dim, "… older ones: --limit, or log " +
                                                                     plain(place.thread_id.toString()) + "@" +
                                                                     entries.back().parent.toString())
                                << '\n';
        }
    }
    return Exit::done;
}

}  // namespace stategraph::inspect
