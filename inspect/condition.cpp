#include "inspect/condition.hpp"

#include <algorithm>
#include <cctype>
#include <compare>
#include <optional>
#include <utility>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

#include "src/value/cbor_compare.hpp"

namespace stategraph::inspect {
namespace {

using Type = Decoder::Type;

bool isLetter(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

std::optional<std::string_view> elementOf(std::string_view item, std::size_t index) {
    Decoder in(item);
    if (in.peek() != Type::array || index >= in.array()) return {};
    for (; index > 0; --index) in.skip();
    return in.raw();
}

std::optional<std::size_t> sizeOf(std::string_view item) {
    Decoder in(item);
    switch (in.peek()) {
        case Type::array:
            return in.array();
        case Type::map:
            return in.map();
        case Type::text:
            return in.text().size();
        default:
            return {};
    }
}

bool contains(std::string_view whole, std::string_view part) {
    Decoder in(whole);
    Decoder wanted(part);
    const bool is_text = wanted.peek() == Type::text;
    switch (in.peek()) {
        case Type::text:
            return is_text && in.text().find(wanted.text()) != std::string_view::npos;
        case Type::map:
            return is_text && stores::findEntry(whole, wanted.text()).has_value();
        case Type::array:
            for (std::size_t left = in.array(); left > 0; --left) {
                if (stores::equalItems(in.raw(), part)) return true;
            }
            return false;
        default:
            return false;
    }
}

}  // namespace

class Condition::Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {
        if (text.size() > length_max)
            throw InvalidArgumentError("a condition has at most " + std::to_string(length_max) +
                                       " bytes, and this has " + std::to_string(text.size()));
    }

    Node whole() {
        Node node = any(0);
        skipSpace();
        if (at_ < text_.size()) fail("'and', 'or' or the end");
        return node;
    }

private:
    [[noreturn]] void fail(const std::string& expected) const {
        // One line, so that the mark stands below the place; it counts characters and not bytes.
        std::string line;
        std::string mark;
        for (std::size_t i = 0; i < text_.size(); ++i) {
            const char c = text_[i];
            line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
            if (i < at_ && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) mark += ' ';
        }
        throw InvalidArgumentError("the condition is not understood: " + expected + " was expected at character " +
                                   std::to_string(mark.size() + 1) + "\n  " + line + "\n  " + mark + "^");
    }

    void skipSpace() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    bool take(std::string_view sign) {
        skipSpace();
        if (!text_.substr(at_).starts_with(sign)) return false;
        at_ += sign.size();
        return true;
    }
    bool takeWord(std::string_view word) {
        skipSpace();
        const std::size_t end = at_ + word.size();
        if (!text_.substr(at_).starts_with(word) || (end < text_.size() && isLetter(text_[end]))) return false;
        at_ = end;
        return true;
    }

    Node any(int depth) {
        Node node = all(depth);
        while (takeWord("or") || take("||")) {
            if (node.kind != Kind::any) node = {.kind = Kind::any, .children = {std::move(node)}};
            node.children.push_back(all(depth));
        }
        return node;
    }
    Node all(int depth) {
        Node node = one(depth);
        bool is_list = false;
        while (takeWord("and") || take("&&")) {
            if (!is_list) node = {.kind = Kind::all, .children = {std::move(node)}};
            is_list = true;
            node.children.push_back(one(depth));
        }
        return node;
    }
    Node one(int depth) {
        if (depth >= depth_max) fail("less than " + std::to_string(depth_max) + " levels of brackets and 'not'");
        skipSpace();
        const bool is_not = takeWord("not") || (!text_.substr(at_).starts_with("!=") && take("!"));
        if (is_not) return {.kind = Kind::none, .children = {one(depth + 1)}};
        if (take("(")) {
            Node node = any(depth + 1);
            if (!take(")")) fail("')'");
            return {.kind = Kind::all, .children = {std::move(node)}};
        }
        Node node{.operands = {operand()}};
        constexpr std::pair<std::string_view, Test> signs[] = {{"==", Test::equal},    {"!=", Test::differs},
                                                               {"<=", Test::not_more}, {">=", Test::not_less},
                                                               {"<", Test::less},      {">", Test::more}};
        for (const auto& [sign, test] : signs) {
            if (!take(sign)) continue;
            node.kind = Kind::compare;
            node.test = test;
            break;
        }
        if (node.kind != Kind::compare && takeWord("contains")) {
            node.kind = Kind::compare;
            node.test = Test::contains;
        }
        skipSpace();
        if (node.kind != Kind::compare && at_ < text_.size() && text_[at_] == '=') fail("'==' for a comparison");
        if (node.kind == Kind::compare) node.operands.push_back(operand());
        return node;
    }

    Operand operand() {
        skipSpace();
        if (at_ == text_.size()) fail("a channel, a number or a text");
        const char c = text_[at_];
        if (c == '"') return {.literal = Value(text())};
        if (c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0) return {.literal = number()};
        if (takeWord("true")) return {.literal = Value(true)};
        if (takeWord("false")) return {.literal = Value(false)};
        if (takeWord("null")) return {};
        const std::size_t before = at_;
        if (takeWord("size") && take("(")) {
            Operand inner = path();
            inner.is_size = true;
            if (!take(")")) fail("')'");
            inner.text = "size(" + inner.text + ")";
            return inner;
        }
        at_ = before;
        return path();
    }
    Operand path() {
        skipSpace();
        const std::size_t begin = at_;
        Operand operand;
        const bool is_number = at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
        if (at_ == text_.size() || is_number || (!isLetter(text_[at_]) && text_[at_] != '['))
            fail("a channel, a number or a text");
        if (text_[at_] != '[') operand.path.push_back(name());
        while (at_ < text_.size()) {
            if (text_[at_] == '.') {
                ++at_;
                operand.path.push_back(name());
            } else if (text_[at_] == '[') {
                ++at_;
                operand.path.push_back(bracketed(operand.path.empty()));
            } else {
                break;
            }
        }
        operand.text = std::string(text_.substr(begin, at_ - begin));
        return operand;
    }
    Step name() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && isLetter(text_[at_])) ++at_;
        if (at_ == begin) fail("a name");
        return {.name = std::string(text_.substr(begin, at_ - begin))};
    }
    Step bracketed(bool is_channel) {
        Step step;
        skipSpace();
        if (at_ < text_.size() && text_[at_] == '"') {
            step.name = text();
        } else {
            const std::size_t begin = at_;
            while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
            if (is_channel) {
                at_ = begin;
                fail("the channel's name in quotes");
            }
            if (at_ == begin || at_ - begin > 9) {
                at_ = begin;
                fail("a name in quotes, or a number of at most 9 digits");
            }
            step.is_index = true;
            step.index = std::stoul(std::string(text_.substr(begin, at_ - begin)));
        }
        if (!take("]")) fail("']'");
        return step;
    }
    std::string text() {
        std::size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size()) fail("a text that ends with a quotation mark");
        std::string read = json("a text as in JSON", end + 1).as<std::string>();
        return read;
    }
    Value number() {
        std::size_t end = at_ + 1;
        while (end < text_.size() && (isLetter(text_[end]) || text_[end] == '.' ||
                                      ((text_[end] == '-' || text_[end] == '+') && (text_[end - 1] | 0x20) == 'e')))
            ++end;
        return json("a number", end);
    }
    /// Reads one JSON value up to `end`.
    Value json(const char* expected, std::size_t end) {
        std::optional<Value> value;
        try {
            value = parseJson(text_.substr(at_, end - at_));
        } catch (const InvalidArgumentError&) {
            fail(expected);
        }
        at_ = end;
        return *value;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

Condition::Condition(std::string_view text) : root_(Parser(text).whole()) {}

Value Condition::valueOf(const Operand& operand, std::string_view state) {
    if (operand.path.empty()) return operand.literal;
    std::optional<std::string_view> item = state;
    for (const Step& step : operand.path) {
        item = step.is_index ? elementOf(*item, step.index) : stores::findEntry(*item, step.name);
        if (!item) return {};
    }
    if (!operand.is_size) return Value::fromCbor(std::string(*item));
    const auto size = sizeOf(*item);
    return size ? Value(*size) : Value();
}

bool Condition::compares(Test test, std::string_view a, std::string_view b) {
    switch (test) {
        case Test::equal:
            return stores::equalItems(a, b);
        case Test::differs:
            return !stores::equalItems(a, b);
        case Test::less:
            return stores::compareItems(a, b) == std::partial_ordering::less;
        case Test::more:
            return stores::compareItems(a, b) == std::partial_ordering::greater;
        case Test::not_more:
            return std::is_lteq(stores::compareItems(a, b));
        case Test::not_less:
            return std::is_gteq(stores::compareItems(a, b));
        case Test::contains:
            return contains(a, b);
    }
    return false;
}

bool Condition::holds(const Node& node, std::string_view state) {
    const auto child_holds = [&](const Node& child) { return holds(child, state); };
    switch (node.kind) {
        case Kind::any:
            return std::ranges::any_of(node.children, child_holds);
        case Kind::all:
            return std::ranges::all_of(node.children, child_holds);
        case Kind::none:
            return std::ranges::none_of(node.children, child_holds);
        case Kind::is: {
            const Value value = valueOf(node.operands[0], state);
            return !value.isNull() && !stores::equalItems(value.bytes(), Value(false).bytes());
        }
        case Kind::compare:
            return compares(node.test, valueOf(node.operands[0], state).bytes(),
                            valueOf(node.operands[1], state).bytes());
    }
    return false;
}

void Condition::collect(const Node& node, std::string_view state, std::vector<Found>& out) {
    for (const Operand& operand : node.operands) {
        if (operand.path.empty() || std::ranges::find(out, operand.text, &Found::path) != out.end()) continue;
        out.push_back({operand.text, valueOf(operand, state)});
    }
    for (const Node& child : node.children) collect(child, state, out);
}

std::vector<Condition::Found> Condition::valuesIn(const Value& state) const {
    std::vector<Found> found;
    collect(root_, state.bytes(), found);
    return found;
}

}  // namespace stategraph::inspect
