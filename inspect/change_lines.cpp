#include "inspect/change_lines.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/checkpoint_changes.hpp>
#include <stategraph/encoding.hpp>

namespace stategraph::inspect {
namespace {

bool isList(std::string_view item) { return Decoder(item).peek() == Decoder::Type::array; }
bool isMap(std::string_view item) { return Decoder(item).peek() == Decoder::Type::map; }

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
    explicit Printer(Terminal& terminal) : terminal_(terminal) {}

    void print(const ChangeView& view) {
        terminal_.out() << terminal_.in(Colour::bold, plain(view.channel)) << "  "
                        << terminal_.in(Colour::dim, view.change) << '\n';
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
        terminal_.out() << terminal_.in(sign == '+' ? Colour::green : Colour::red, terminal_.fit(shown, 0)) << '\n';
    }
    void same(std::size_t count) {
        if (count == 0) return;
        terminal_.out() << terminal_.in(Colour::dim, "  " + std::to_string(count) + " the same") << '\n';
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

    Terminal& terminal_;
};

}  // namespace

void printChange(Terminal& terminal, const ChangeView& change) { Printer(terminal).print(change); }

}  // namespace stategraph::inspect
