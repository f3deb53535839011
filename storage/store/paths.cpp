#include "storage/store/paths.hpp"

#include <charconv>
#include <optional>
#include <span>

#include <stategraph/error.hpp>

#include "src/value/cbor_compare.hpp"

namespace stategraph::stores {
namespace {

using StepKind = PathStep::Kind;
using Type = Decoder::Type;

constexpr std::size_t steps_max = 64;

class PathParser {
public:
    explicit PathParser(std::string_view path) : path_(path), rest_(path) {}

    TextPath parse() {
        if (path_ == "$") return {};
        for (;;) {
            step();
            if (rest_.empty()) return std::move(steps_);
            rest_.remove_prefix(1);  // removes the dot
        }
    }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw InvalidArgumentError("the index path '" + std::string(path_) + "' is not one: " + why +
                                   R"(; write "a.b", "a[0]", "a[*]", "*" or "$")");
    }

    void add(PathStep step) {
        if (steps_.size() == steps_max) refuse("it has more than " + std::to_string(steps_max) + " steps");
        steps_.push_back(std::move(step));
    }

    void step() {
        const std::string_view name = rest_.substr(0, rest_.find_first_of(".[]{}"));
        rest_.remove_prefix(name.size());
        const bool is_indexed = !rest_.empty() && rest_.front() == '[';
        if (name.empty() && !is_indexed) refuse("a name is empty");
        if (name == "$") refuse("\"$\" must be the whole path");
        if (name == "*") {
            add({.kind = StepKind::all_entries, .name = {}, .index = 0});
        } else if (!name.empty()) {
            add({.kind = StepKind::name, .name = std::string(name), .index = 0});
        }
        while (!rest_.empty() && rest_.front() == '[') index();
        if (!rest_.empty() && rest_.front() != '.')
            refuse("it has " + std::string(1, rest_.front()) + " where a dot or the end belongs");
    }

    void index() {
        const std::size_t end = rest_.find(']');
        if (end == std::string_view::npos) refuse("a bracket is not closed");
        const std::string_view inside = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        if (inside == "*") return add({.kind = StepKind::all_elements, .name = {}, .index = 0});
        PathStep step{.kind = StepKind::element, .name = {}, .index = 0};
        const auto [at, error] = std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
        if (error != std::errc() || at != inside.data() + inside.size()) refuse("brackets contain a number or \"*\"");
        add(std::move(step));
    }

    std::string_view path_;
    std::string_view rest_;
    TextPath steps_;
};

std::optional<std::string_view> findElement(std::string_view item, std::int64_t index) {
    Decoder in(item);
    if (in.peek() != Type::array) return std::nullopt;
    const auto count = static_cast<std::int64_t>(in.array());
    if (index < 0) index += count;
    if (index < 0 || index >= count) return std::nullopt;
    for (; index > 0; --index) in.skip();
    return in.raw();
}

class Collector {
public:
    Collector(std::size_t most, std::vector<std::string>& out) : most_(most), out_(out) {}

    void walk(std::span<const PathStep> steps, std::string_view item) {
        if (out_.size() > most_) return;
        if (steps.empty()) return addText(item);
        const PathStep& step = steps.front();
        const auto further = steps.subspan(1);
        Decoder in(item);
        switch (step.kind) {
            case StepKind::name:
                if (const auto found = findEntry(item, step.name)) walk(further, *found);
                return;
            case StepKind::element:
                if (const auto found = findElement(item, step.index)) walk(further, *found);
                return;
            case StepKind::all_elements:
                if (in.peek() != Type::array) return;
                for (std::size_t count = in.array(); count > 0; --count) walk(further, in.raw());
                return;
            case StepKind::all_entries:
                if (in.peek() != Type::map) return;
                for (std::size_t count = in.map(); count > 0; --count) {
                    in.skip();
                    walk(further, in.raw());
                }
                return;
        }
    }

private:
    void addText(std::string_view item) {
        Decoder in(item);
        const Type type = in.peek();
        if (type == Type::null) return;
        out_.push_back(type == Type::text ? std::string(in.text()) : cborToJson(item));
    }

    std::size_t most_;
    std::vector<std::string>& out_;
};

}  // namespace

TextPath parsePath(std::string_view path) { return PathParser(path).parse(); }

void collectTexts(const TextPath& path, const Value& value, std::size_t most, std::vector<std::string>& out) {
    Collector(most, out).walk(path, value.bytes());
}

}  // namespace stategraph::stores
