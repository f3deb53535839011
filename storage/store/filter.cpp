#include <stategraph/store_filter.hpp>

#include <utility>

#include <stategraph/error.hpp>

#include "src/value/cbor_compare.hpp"
#include "storage/store/filter_node.hpp"

namespace stategraph {
namespace stores {
namespace {

using Kind = FilterNode::Kind;

std::string inQuotes(std::string_view text) { return "'" + std::string(text) + "'"; }

Kind kindOf(std::string_view operation) {
    if (operation == "$eq") return Kind::equal;
    if (operation == "$ne") return Kind::not_equal;
    if (operation == "$gt") return Kind::greater;
    if (operation == "$gte") return Kind::greater_or_equal;
    if (operation == "$lt") return Kind::less;
    if (operation == "$lte") return Kind::less_or_equal;
    throw InvalidArgumentError(
        "the filter has the operator " + inQuotes(operation) +
        ", and there is none; take one of $eq $ne $gt $gte $lt $lte (names of fields do not begin with $)");
}

void checkName(std::string_view name) {
    if (name.empty())
        throw InvalidArgumentError("the filter names a field with an empty name; name it, or remove the extra dot");
    if (name.front() == '$') {
        throw InvalidArgumentError(
            "the filter has " + inQuotes(name) +
            " where the name of a field belongs; operators belong inside a field: {\"field\": {\"$gt\": 1}}");
    }
}

FilterNode makeCondition(std::vector<std::string> path, std::string_view operation, const Value& operand) {
    const Kind kind = kindOf(operation);
    if (kind != Kind::equal && kind != Kind::not_equal) {
        const Decoder::Type type = Decoder(operand.bytes()).peek();
        const bool has_order = type == Decoder::Type::unsigned_integer || type == Decoder::Type::negative_integer ||
                               type == Decoder::Type::real || type == Decoder::Type::text ||
                               type == Decoder::Type::bytes;
        if (!has_order) {
            throw InvalidArgumentError("the filter compares with " + std::string(operation) +
                                       " to something that is neither a number nor a text; only these have an order");
        }
    }
    return {.path = std::move(path), .kind = kind, .operand = operand, .children = {}};
}

class Parser {
public:
    std::vector<FilterNode> entries(Decoder& in, int depth) {
        std::vector<FilterNode> nodes;
        for (std::size_t count = in.map(); count > 0; --count) {
            const std::string name = readName(in);
            checkName(name);
            nodes.push_back(pattern({name}, in.raw(), depth));
        }
        return nodes;
    }

private:
    static std::string readName(Decoder& in) {
        if (in.peek() != Decoder::Type::text) throw InvalidArgumentError("the filter has a name that is not text");
        return std::string(in.text());
    }

    void count() {
        if (++conditions_ > StoreFilter::conditions_max) {
            throw InvalidArgumentError("the filter has more than " + std::to_string(StoreFilter::conditions_max) +
                                       " conditions");
        }
    }

    FilterNode pattern(std::vector<std::string> path, std::string_view item, int depth) {
        if (depth > StoreFilter::depth_max) {
            throw InvalidArgumentError("the filter is nested deeper than " + std::to_string(StoreFilter::depth_max) +
                                       " levels");
        }
        count();
        Decoder in(item);
        if (in.peek() == Decoder::Type::map) {
            if (hasOperators(item))
                return {.path = std::move(path), .kind = Kind::all_of, .operand = {}, .children = operators(in)};
            return {.path = std::move(path), .kind = Kind::map_of, .operand = {}, .children = entries(in, depth + 1)};
        }
        if (in.peek() == Decoder::Type::array) {
            FilterNode node{.path = std::move(path), .kind = Kind::array_of, .operand = {}, .children = {}};
            for (std::size_t left = in.array(); left > 0; --left)
                node.children.push_back(pattern({}, in.raw(), depth + 1));
            return node;
        }
        return {.path = std::move(path),
                .kind = Kind::equal,
                .operand = Value::fromCbor(std::string(item)),
                .children = {}};
    }

    // Either all names of a map are operators, or none is.
    static bool hasOperators(std::string_view item) {
        Decoder in(item);
        std::size_t operators = 0;
        const std::size_t count = in.map();
        for (std::size_t i = 0; i < count; ++i) {
            if (readName(in).starts_with('$')) ++operators;
            in.skip();
        }
        if (operators > 0 && operators < count) {
            throw InvalidArgumentError(
                "the filter has operators and names of fields in one map; give the fields a map of their own");
        }
        return operators > 0;
    }

    std::vector<FilterNode> operators(Decoder& in) {
        std::vector<FilterNode> nodes;
        for (std::size_t left = in.map(); left > 0; --left) {
            count();
            const std::string operation = readName(in);
            nodes.push_back(makeCondition({}, operation, Value::fromCbor(std::string(in.raw()))));
        }
        return nodes;
    }

    std::size_t conditions_ = 0;
};

bool holds(const FilterNode& node, std::string_view item) {
    for (const std::string& name : node.path) item = findEntry(item, name).value_or(null_item);
    switch (node.kind) {
        case Kind::equal:
            return equalItems(item, node.operand.bytes());
        case Kind::not_equal:
            return !equalItems(item, node.operand.bytes());
        case Kind::greater:
            return compareItems(item, node.operand.bytes()) > 0;
        case Kind::greater_or_equal:
            return compareItems(item, node.operand.bytes()) >= 0;
        case Kind::less:
            return compareItems(item, node.operand.bytes()) < 0;
        case Kind::less_or_equal:
            return compareItems(item, node.operand.bytes()) <= 0;
        case Kind::array_of: {
            Decoder in(item);
            if (in.peek() != Decoder::Type::array || in.array() != node.children.size()) return false;
            for (const FilterNode& child : node.children) {
                if (!holds(child, in.raw())) return false;
            }
            return true;
        }
        case Kind::map_of:
            if (Decoder(item).peek() != Decoder::Type::map) return false;
            break;
        case Kind::all_of:
            break;
    }
    for (const FilterNode& child : node.children) {
        if (!holds(child, item)) return false;
    }
    return true;
}

}  // namespace

std::size_t countConditions(const FilterNode& node) {
    std::size_t count = 1;
    for (const FilterNode& child : node.children) count += countConditions(child);
    return count;
}

}  // namespace stores

StoreFilter StoreFilter::parse(const Value& filter) {
    Decoder in(filter.bytes());
    if (in.peek() != Decoder::Type::map)
        throw InvalidArgumentError("a filter is a map from names of fields to what they must be");
    StoreFilter made;
    for (auto& node : stores::Parser().entries(in, 1)) {
        made.nodes_.push_back(std::make_shared<const stores::FilterNode>(std::move(node)));
    }
    return made;
}

bool StoreFilter::matchesCbor(std::string_view item) const {
    for (const auto& node : nodes_) {
        if (!stores::holds(*node, item)) return false;
    }
    return true;
}

StoreFilter operator&&(const StoreFilter& a, const StoreFilter& b) {
    StoreFilter both = a;
    both.nodes_.insert(both.nodes_.end(), b.nodes_.begin(), b.nodes_.end());
    std::size_t count = 0;
    for (const auto& node : both.nodes_) count += stores::countConditions(*node);
    if (count > StoreFilter::conditions_max) {
        throw InvalidArgumentError("the filter has more than " + std::to_string(StoreFilter::conditions_max) +
                                   " conditions");
    }
    return both;
}

FilterField::FilterField(std::vector<std::string> names) : names_(std::move(names)) {
    if (names_.empty()) throw InvalidArgumentError("the filter names no field; give where() at least one name");
    if (names_.size() > static_cast<std::size_t>(StoreFilter::depth_max)) {
        throw InvalidArgumentError("the filter is nested deeper than " + std::to_string(StoreFilter::depth_max) +
                                   " levels");
    }
    for (const std::string& name : names_) stores::checkName(name);
}

StoreFilter FilterField::make(std::string_view operation, const Value& operand) const {
    StoreFilter made;
    made.nodes_.push_back(
        std::make_shared<const stores::FilterNode>(stores::makeCondition(names_, operation, operand)));
    return made;
}
StoreFilter FilterField::eq(const Value& operand) const { return make("$eq", operand); }
StoreFilter FilterField::ne(const Value& operand) const { return make("$ne", operand); }
StoreFilter FilterField::gt(const Value& operand) const { return make("$gt", operand); }
StoreFilter FilterField::gte(const Value& operand) const { return make("$gte", operand); }
StoreFilter FilterField::lt(const Value& operand) const { return make("$lt", operand); }
StoreFilter FilterField::lte(const Value& operand) const { return make("$lte", operand); }

FilterField where(std::string_view path) {
    std::vector<std::string> names;
    for (;;) {
        const std::size_t dot = path.find('.');
        names.emplace_back(path.substr(0, dot));
        if (dot == std::string_view::npos) return FilterField(std::move(names));
        path.remove_prefix(dot + 1);
    }
}
FilterField where(std::initializer_list<std::string> names) { return FilterField(std::vector<std::string>(names)); }

}  // namespace stategraph
