#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/checkpoint_changes.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/read_checkpoint.hpp>

#include "inspect/commands.hpp"
#include "inspect/views.hpp"

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

bool isList(std::string_view item) { return Decoder(item).peek() == Decoder::Type::array; }
bool isMap(std::string_view item) { return Decoder(item).peek() == Decoder::Type::map; }

/// Adds what a channel had before to each list and object that was set, so that the members that changed can be shown.
void addBefore(BaseCheckpointSaver& saver, const CheckpointChanges& changes, std::vector<ChangeView>& views) {
    const auto is_compared = [](const ChangeView& view) {
        return view.change == toString(Change::set) && (isList(view.after->bytes()) || isMap(view.after->bytes()));
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

std::vector<std::string_view> itemsOf(std::string_view list) {
    std::vector<std::string_view> items;
    Decoder in(list);
    for (std::size_t count = in.array(); count > 0; --count) items.push_back(in.raw());
    return items;
}

/// The members of an object by their places in a path, as `show --path` takes them.
std::map<std::string, std::string_view> membersOf(std::string_view map) {
    std::map<std::string, std::string_view> members;
    Decoder in(map);
    for (std::size_t count = in.map(); count > 0; --count) {
        const bool is_text = in.peek() == Decoder::Type::text;
        const std::string name = is_text ? std::string(in.text()) : cborToJson(in.raw());
        std::string place = "/";
        for (const char c : name) c == '~' ? place += "~0" : c == '/' ? place += "~1" : place += c;
        members.emplace(std::move(place), in.raw());
    }
    return members;
}

class Printer {
public:
    explicit Printer(Call& call) : call_(call) {}

    void print(const ChangeView& view) {
        call_.terminal.out() << call_.terminal.in(Colour::bold, plain(view.channel)) << "  "
                             << call_.terminal.in(Colour::dim, view.change) << '\n';
        if (view.change == toString(Change::append)) {
            for (const auto& item : itemsOf(view.after->bytes())) line('+', "", item);
        } else if (view.change == toString(Change::put)) {
            for (const auto& [place, item] : membersOf(view.after->bytes())) line('+', place, item);
        } else if (view.before && view.after) {
            differing("", view.before->bytes(), view.after->bytes());
        } else {
            if (view.before) line('-', "", view.before->bytes());
            if (view.after) line('+', "", view.after->bytes());
        }
    }

private:
    void line(char sign, const std::string& path, std::string_view item) {
        const std::string shown =
            std::string(1, sign) + " " + plain(path) + (path.empty() ? "" : " ") + plain(cborToJson(item));
        call_.terminal.out() << call_.terminal.in(sign == '+' ? Colour::green : Colour::red,
                                                  call_.terminal.fit(shown, 0))
                             << '\n';
    }
    void same(std::size_t count) {
        if (count == 0) return;
        call_.terminal.out() << call_.terminal.in(Colour::dim, "  " + std::to_string(count) + " the same") << '\n';
    }
    // Values nest at most value_depth_max deep.
    void differing(const std::string& path, std::string_view before, std::string_view after) {
        if (before == after) return;
        if (isList(before) && isList(after)) {
            lists(path, itemsOf(before), itemsOf(after));
        } else if (isMap(before) && isMap(after)) {
            members(path, membersOf(before), membersOf(after));
        } else {
            line('-', path, before);
            line('+', path, after);
        }
    }
    void members(const std::string& path, const std::map<std::string, std::string_view>& before,
                 const std::map<std::string, std::string_view>& after) {
        std::size_t equal = 0;
        for (const auto& [place, item] : before) {
            const auto now = after.find(place);
            if (now == after.end()) {
                line('-', path + place, item);
            } else {
                differing(path + place, item, now->second);
                equal += item == now->second ? 1 : 0;
            }
        }
        for (const auto& [place, item] : after) {
            if (!before.contains(place)) line('+', path + place, item);
        }
        if (path.empty()) same(equal);
    }
    // Elements that both lists have at their beginnings and ends are left out. Between them, objects at equal places
    // are compared by their members.
    void lists(const std::string& path, const std::vector<std::string_view>& before,
               const std::vector<std::string_view>& after) {
        std::size_t front = 0;
        while (front < before.size() && front < after.size() && before[front] == after[front]) ++front;
        std::size_t back = 0;
        while (back < before.size() - front && back < after.size() - front &&
               before[before.size() - 1 - back] == after[after.size() - 1 - back]) {
            ++back;
        }
        if (path.empty()) same(front);
        const auto place = [&](std::size_t i) { return path + "/" + std::to_string(i); };
        const auto shown = [&](std::size_t i) { return path.empty() ? "" : place(i); };
        const std::size_t before_end = before.size() - back;
        const std::size_t after_end = after.size() - back;
        bool are_objects = before_end == after_end;
        for (std::size_t i = front; are_objects && i < before_end; ++i)
            are_objects = isMap(before[i]) && isMap(after[i]);
        if (are_objects) {
            for (std::size_t i = front; i < before_end; ++i) differing(place(i), before[i], after[i]);
        } else {
            for (std::size_t i = front; i < before_end; ++i) line('-', shown(i), before[i]);
            for (std::size_t i = front; i < after_end; ++i) line('+', shown(i), after[i]);
        }
        if (path.empty()) same(back);
    }

    Call& call_;
};

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
        Printer printer(call);
        for (const auto& view : views) printer.print(view);
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
    for (const auto& entry : history.entries) views.push_back(viewOf(entry));
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
