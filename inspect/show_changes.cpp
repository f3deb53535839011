#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/checkpoint_changes.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/read_checkpoint.hpp>

#include "inspect/change_lines.hpp"
#include "inspect/commands.hpp"
#include "inspect/views.hpp"
#include "src/reading/shown_names.hpp"

// diff: shows what a checkpoint changed, or how two checkpoints differ. why and blame: show the causes and writers.
namespace stategraph::inspect {
namespace {

std::vector<ChangeView> changesOf(const CheckpointChanges& changes) {
    std::vector<ChangeView> views;
    for (const ChannelChange& change : changes.changes) {
        ChangeView view{.channel = change.channel, .change = toString(change.change), .before = {}, .after = {}};
        if (change.change != Change::clear) view.after = change.value;
        views.push_back(std::move(view));
    }
    return views;
}

std::vector<ChangeView> changesOf(std::vector<ChannelDifference> differences) {
    std::vector<ChangeView> views;
    for (ChannelDifference& each : differences)
        views.push_back({each.channel, "differs", std::move(each.before), std::move(each.after)});
    return views;
}

/// Adds what a channel had before to each list and object that was set, so that the members that changed can be shown.
void addBefore(BaseCheckpointSaver& saver, const CheckpointChanges& changes, std::vector<ChangeView>& views) {
    const auto is_compared = [](const ChangeView& view) {
        if (view.change != toString(Change::set)) return false;
        const Decoder::Type type = Decoder(view.after->bytes()).peek();
        return type == Decoder::Type::array || type == Decoder::Type::map;
    };
    Config parent = changes.config;
    parent.checkpoint_id = changes.parent;
    if (!changes.parent || std::ranges::none_of(views, is_compared) ||
        !readCheckpoint(saver, parent, {.values = false}))
        return;
    const auto differences = readDifference(saver, parent, changes.config);
    for (ChangeView& view : views) {
        const auto found = std::ranges::find(differences, view.channel, &ChannelDifference::channel);
        if (is_compared(view) && found != differences.end()) view.before = found->before;
    }
}

}  // namespace

Exit showDifference(Call& call) {
    const Config first = findCheckpoint(call.saver, call.arguments, call.place(0));
    std::vector<ChangeView> views;
    if (call.arguments.places().size() == 2) {
        const Config second = findCheckpoint(call.saver, call.arguments, call.place(1));
        views = changesOf(readDifference(call.saver, first, second));
    } else {
        const auto changes = readChanges(call.saver, first);
        if (changes->is_whole && changes->parent) {
            Config parent = first;
            parent.checkpoint_id = changes->parent;
            // The commit contains every channel's value. Its changes are the difference from the checkpoint before it,
            // if that still exists.
            views = readCheckpoint(call.saver, parent, {.values = false})
                        ? changesOf(readDifference(call.saver, parent, first))
                        : changesOf(*changes);
        } else {
            views = changesOf(*changes);
            addBefore(call.saver, *changes, views);
        }
    }
    if (call.asJson()) {
        call.terminal.out() << toJson(views) << '\n';
    } else {
        for (const auto& view : views) printChange(call.terminal, view);
    }
    return views.empty() ? Exit::done : Exit::no;
}

Exit showCauses(Call& call) {
    const Config place = findCheckpoint(call.saver, call.arguments, call.place(0));
    // For the newest checkpoint, what a Command added to it is included.
    const Config asked =
        call.place(0).find('@') == std::string::npos ? findPlace(call.saver, call.arguments, call.place(0)) : place;
    std::vector<TaskCausesView> views;
    auto& out = call.terminal.out();
    for (const TaskCauses& task : readCauses(call.saver, asked)) {
        if (call.arguments.places().size() == 2 && task.name != call.place(1) && task.path != call.place(1)) continue;
        views.push_back(viewOf(task));
        if (call.asJson()) continue;
        const std::string name = task.path.starts_with("push:") ? task.name + " " + task.path : task.name;
        for (const CauseView& cause : views.back().causes)
            out << call.terminal.in(Colour::bold, plain(name)) << "  " << plain(cause.text) << '\n';
    }
    if (call.asJson()) out << toJson(views) << '\n';
    if (!views.empty()) return Exit::done;
    if (call.arguments.places().size() == 2)
        throw NotFound{"no task '" + call.place(1) + "' is due at this checkpoint"};
    if (!call.asJson()) out << "nothing is due\n";
    return Exit::no;
}

Exit showWriters(Call& call) {
    const Config place = findCheckpoint(call.saver, call.arguments, call.place(0));
    const std::size_t limit = call.arguments.number("--limit", 100, 1);
    const ChannelHistory history = readChannelHistory(call.saver, place, call.place(1), {.limit = limit});
    if (history.entries.empty())
        throw NotFound{"no task has written a channel '" + call.place(1) + "' on the way to this checkpoint"};
    std::vector<WriterView> views;
    const reading::ShownNames names(call.saver, place);
    for (const auto& entry : history.entries) views.push_back(viewOf(entry, names.graph()));
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(views) << '\n';
        return Exit::done;
    }
    for (const auto& view : views) {
        std::string who;
        for (const auto& writer : view.writers) who += (who.empty() ? "" : ", ") + plain(writer);
        if (who.empty()) who = view.source;
        std::string step = std::to_string(view.step);
        step.insert(0, step.size() < 5 ? 5 - step.size() : 0, ' ');
        out << step << "  " << call.terminal.in(Colour::dim, view.checkpoint_id) << "  "
            << call.terminal.in(Colour::bold, who) << "  " << view.change << "  "
            << call.terminal.fit(plain(view.value.toJson()), 51 + who.size() + view.change.size()) << '\n';
    }
    if (history.more) {
        out << call.terminal.in(Colour::dim, "… older ones: blame " + plain(place.thread_id.toString()) + "@" +
                                                 history.more->checkpoint_id.toString() + " " + plain(call.place(1)))
            << '\n';
    }
    return Exit::done;
}

}  // namespace stategraph::inspect
