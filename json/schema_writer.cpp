#include <stategraph/json_schema.hpp>

#include <algorithm>

namespace stategraph::detail {
namespace {

constexpr std::string_view description_begin = R"({"description":")";

std::string quote(std::string_view text) { return toJson(text); }

// Returns Order for "… [with T = shop::Order; …]" or "… [T = shop::Order]", without the characters that JSON Pointers
// would have to escape.
std::string shortName(std::string_view signature) {
    const std::size_t begin = signature.find("T = ");
    if (begin != std::string_view::npos) signature.remove_prefix(begin + 4);
    signature = signature.substr(0, signature.find_first_of(";]"));
    const std::string_view head = signature.substr(0, signature.find('<'));
    const std::size_t scope = head.rfind("::");
    if (scope != std::string_view::npos) signature.remove_prefix(scope + 2);
    std::string name;
    for (const char c : signature) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (is_plain) name += c;
    }
    return name.empty() ? "Type" : name;
}

std::string unitOf(std::int64_t num, std::int64_t den) {
    struct Unit {
        std::int64_t num;
        std::int64_t den;
        std::string_view name;
    };
    constexpr Unit units[] = {{1, 1'000'000'000, "nanoseconds"},
                              {1, 1'000'000, "microseconds"},
                              {1, 1000, "milliseconds"},
                              {1, 1, "seconds"},
                              {60, 1, "minutes"},
                              {3600, 1, "hours"},
                              {86'400, 1, "days"},
                              {604'800, 1, "weeks"}};
    for (const Unit& unit : units) {
        if (unit.num == num && unit.den == den) return std::string(unit.name);
    }
    return "units of " + std::to_string(num) + (den == 1 ? "" : "/" + std::to_string(den)) + " s";
}

}  // namespace

void SchemaWriter::integer(std::int64_t min, std::uint64_t max, bool has_range) {
    out_ += R"({"type":"integer")";
    if (has_range || min == 0) out_ += R"(,"minimum":)" + std::to_string(min);
    if (has_range) out_ += R"(,"maximum":)" + std::to_string(max);
    out_ += '}';
}

void SchemaWriter::names(EnumRows names) {
    out_ += R"({"type":"string","enum":[)";
    for (std::size_t i = 0; i < names.size; ++i) out_ += (i == 0 ? "" : ",") + quote(names.rows[i].name);
    out_ += "]}";
}

void SchemaWriter::optional(DescribeType value) {
    const std::size_t begin = out_.size();
    value(*this);
    const std::string schema = out_.substr(begin);
    constexpr std::string_view type = R"({"type":")";
    out_.resize(begin);
    if (schema == "{}") {
        out_ += schema;
    } else if (schema.starts_with(type) && !schema.starts_with(R"({"type":"string","enum")")) {
        const std::size_t end = schema.find('"', type.size());
        out_ +=
            R"({"type":[")" + schema.substr(type.size(), end - type.size()) + R"(","null"])" + schema.substr(end + 1);
    } else {
        out_ += R"({"anyOf":[)" + schema + R"(,{"type":"null"}]})";
    }
}

void SchemaWriter::list(DescribeType item, const std::size_t* count) {
    out_ += R"({"type":"array","items":)";
    item(*this);
    if (count != nullptr)
        out_ += R"(,"minItems":)" + std::to_string(*count) + R"(,"maxItems":)" + std::to_string(*count);
    out_ += '}';
}

void SchemaWriter::tuple(const DescribeType* items, std::size_t size) {
    out_ += R"({"type":"array",)";
    for (std::size_t i = 0; i < size; ++i) {
        out_ += i == 0 ? R"("prefixItems":[)" : ",";
        items[i](*this);
    }
    if (size > 0) out_ += "],";
    out_ += R"("items":false,"minItems":)" + std::to_string(size) + '}';
}

void SchemaWriter::map(DescribeType mapped, bool has_number_keys) {
    out_ += R"({"type":"object",)";
    if (has_number_keys) out_ += R"("propertyNames":{"pattern":"^-?[0-9]+$"},)";
    out_ += R"("additionalProperties":)";
    mapped(*this);
    out_ += '}';
}

void SchemaWriter::variant(const DescribeType* alternatives, std::size_t size) {
    out_ += R"({"oneOf":[)";
    for (std::size_t i = 0; i < size; ++i) {
        if (i > 0) out_ += ',';
        out_ += R"({"type":"array","prefixItems":[{"const":)" + std::to_string(i) + "},";
        alternatives[i](*this);
        out_ += R"(],"items":false,"minItems":2})";
    }
    out_ += "]}";
}

void SchemaWriter::tagged(const DescribeType* alternatives, const Tags& tags) {
    out_ += R"({"oneOf":[)";
    for (std::size_t i = 0; i < tags.size; ++i) {
        if (i > 0) out_ += ',';
        tags_ = tags;
        tag_ = tags.tags[i];
        alternatives[i](*this);
    }
    out_ += "]}";
}

void SchemaWriter::structure(const SchemaStruct& type) {
    const Tags tags = std::exchange(tags_, {});
    const std::string_view tag = std::exchange(tag_, {});
    if (reference(type, tag)) return;
    const std::size_t begin = out_.size();
    open_.push_back({type.type, std::string(tag), begin, {}});
    body(type, tags, tag);
    const Open ended = std::move(open_.back());
    open_.pop_back();
    if (ended.name.empty() || begin == 0) return;
    defs_.push_back({ended.type, ended.tag, ended.name, out_.substr(begin)});
    out_.resize(begin);
    (void)reference(type, tag);
}

// Writes the type as a reference if it is being written, or is in $defs. Returns whether it did.
bool SchemaWriter::reference(const SchemaStruct& type, std::string_view tag) {
    std::string to;
    for (const Def& def : defs_) {
        if (def.type == type.type && def.tag == tag) to = "#/$defs/" + def.name;
    }
    for (Open& open : open_) {
        if (open.type != type.type || open.tag != tag) continue;
        if (open.name.empty()) open.name = nameFor(type.signature);
        to = open.begin == 0 ? "#" : "#/$defs/" + open.name;
    }
    if (to.empty()) return false;
    out_ += R"({"$ref":)" + quote(to) + '}';
    return true;
}

void SchemaWriter::body(const SchemaStruct& type, const Tags& tags, std::string_view tag) {
    out_ += R"({"type":"object","properties":{)";
    std::string required;
    const auto require = [&](std::string_view name) { required += (required.empty() ? "" : ",") + quote(name); };
    const bool is_tagged = tags.tags != nullptr;
    if (is_tagged) {
        out_ += quote(tags.member) + R"(:{"const":)" + quote(tag) + '}';
        require(tags.member);
    }
    for (std::size_t i = 0; i < type.size; ++i) {
        const SchemaMember& member = type.members[i];
        if (i > 0 || is_tagged) out_ += ',';
        out_ += quote(member.name) + ':';
        const std::size_t begin = out_.size();
        member.describe(*this);
        describeAt(begin, member.description);
        if (member.required) require(member.name);
    }
    out_ += '}';
    if (!required.empty()) out_ += R"(,"required":[)" + required + ']';
    if (!type.allows_unknown) out_ += R"(,"additionalProperties":false)";
    out_ += '}';
}

// Inserts a description into the schema that begins there, before its own members.
void SchemaWriter::describeAt(std::size_t begin, std::string_view description) {
    if (description.empty()) return;
    std::string quoted = quote(description);
    if (std::string_view(out_).substr(begin).starts_with(description_begin)) {
        quoted.pop_back();
        out_.insert(begin + description_begin.size(), quoted.substr(1) + ", in ");
        return;
    }
    const bool is_empty = out_[begin + 1] == '}';
    out_.insert(begin + 1, R"("description":)" + quoted + (is_empty ? "" : ","));
}

void SchemaWriter::count(DescribeType number, std::int64_t num, std::int64_t den, std::string_view epoch) {
    const std::size_t begin = out_.size();
    number(*this);
    std::string unit = unitOf(num, den);
    if (!epoch.empty()) unit.append(" since ").append(epoch);
    describeAt(begin, unit);
}

std::string SchemaWriter::nameFor(std::string_view signature) const {
    const std::string wanted = shortName(signature);
    std::string name = wanted;
    const auto isTaken = [&] {
        return std::ranges::any_of(defs_, [&](const Def& def) { return def.name == name; }) ||
               std::ranges::any_of(open_, [&](const Open& open) { return open.name == name; });
    };
    for (int i = 2; isTaken(); ++i) name = wanted + std::to_string(i);
    return name;
}

std::string SchemaWriter::finish() && {
    std::string schema = R"({"$schema":"https://json-schema.org/draft/2020-12/schema")";
    if (out_ != "{}") schema += ',' + out_.substr(1, out_.size() - 2);
    for (std::size_t i = 0; i < defs_.size(); ++i) {
        schema += (i == 0 ? R"(,"$defs":{)" : ",") + quote(defs_[i].name) + ':' + defs_[i].schema;
    }
    if (!defs_.empty()) schema += '}';
    return schema + '}';
}

}  // namespace stategraph::detail
