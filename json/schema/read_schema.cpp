#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/error.hpp>

#include "json/schema/keywords.hpp"
#include "json/schema/levels.hpp"
#include "json/schema/references.hpp"
#include "json/schema/rules.hpp"

namespace stategraph::schema {
namespace {

namespace json = boost::json;

constexpr std::size_t text_depth_max = 512;  // of the text: twice as many as of the objects that it describes
constexpr std::size_t patterns_max = 512;
constexpr std::size_t patterns_work_max = 8000;
constexpr std::int64_t pattern_memory = 32 << 20;  // of all together
constexpr std::int64_t pattern_memory_min = 256 << 10;
constexpr std::int64_t pattern_memory_max = 4 << 20;

/// Reads one schema after the other. Schemas inside of others, and those that references lead to, wait in a list, so
/// that no nesting needs stack.
class Reader final : public Schemas {
public:
    explicit Reader(Schema& schema) : schema_(schema) {}

    void run() {
        schema_.root = add(schema_.text, schema_.text);
        do {
            while (read_ < waiting_.size()) {
                const auto [number, written, base] = waiting_[read_++];
                readOne(number, *written, *base);
            }
        } while (resolve());
    }
    void compilePatterns() {
        if (patterns_.size() > patterns_max) {
            throw InvalidArgumentError("the schema has " + std::to_string(patterns_.size()) +
                                       " patterns, and may have " + std::to_string(patterns_max));
        }
        const std::int64_t memory =
            std::clamp(pattern_memory / std::max<std::int64_t>(1, static_cast<std::int64_t>(patterns_.size())),
                       pattern_memory_min, pattern_memory_max);
        std::size_t work = 0;
        for (const std::string_view pattern : patterns_) {
            work += schema_.patterns.try_emplace(pattern, pattern, memory).first->second.work();
            if (work > patterns_work_max)
                throw InvalidArgumentError("the schema's patterns are too large together; they repeat too much");
        }
        for (Node& node : schema_.nodes) {
            for (Rule& rule : node.rules) {
                if (rule.word == Word::pattern) rule.pattern = &schema_.patterns.at(textOf(*rule.given));
                if (rule.word != Word::pattern_properties) continue;
                for (Child& child : rule.children) child.pattern = &schema_.patterns.at(child.name);
            }
        }
    }

    std::size_t add(const json::value& written, const json::value& base) override {
        const auto [at, is_new] = numbers_.try_emplace(&written, schema_.nodes.size());
        if (is_new) {
            if (!written.is_object() && !written.is_bool())
                throw InvalidArgumentError("a JSON Schema is an object or a boolean, not " + shown(written));
            schema_.nodes.push_back({.written = &written});
            waiting_.push_back({at->second, &written, &base});
        }
        return at->second;
    }
    void addPattern(std::string_view pattern) override { patterns_.insert(pattern); }

private:
    struct Waiting {
        std::size_t number;
        const json::value* written;
        const json::value* base;
    };
    struct Reference {
        std::size_t from;
        std::string_view text;
        const json::value* base;
    };

    void readOne(std::size_t number, const json::value& written, const json::value& around) {
        if (const bool* const all = written.if_bool()) {
            if (!*all) schema_.nodes[number].rules.push_back({.word = Word::never});
            return;
        }
        const json::object& object = written.get_object();
        const json::value& base = places_.note(written, around);
        std::vector<Rule> rules = rulesOf(object, base, *this);
        schema_.nodes[number].rules = std::move(rules);
        if (const json::value* const reference = object.if_contains("$ref")) {
            if (!reference->is_string())
                throw InvalidArgumentError("'$ref' must be a text, and is " + shown(*reference));
            references_.push_back({number, textOf(*reference), &base});
        }
    }
    /// Resolves the references that were found. Returns false if there were none.
    bool resolve() {
        const std::vector<Reference> found = std::exchange(references_, {});
        for (const Reference& each : found) {
            const auto [written, base] = places_.find(each.text, *each.base);
            const std::size_t target = add(*written, *base);
            schema_.nodes[each.from].rules.push_back({.word = Word::all_of, .children = {{target}}});
        }
        return !found.empty();
    }

    Schema& schema_;
    Places places_;
    std::map<const json::value*, std::size_t> numbers_;
    std::vector<Waiting> waiting_;
    std::size_t read_ = 0;
    std::vector<Reference> references_;
    std::set<std::string_view> patterns_;
};

}  // namespace

std::shared_ptr<const Schema> readSchema(std::string_view text) {
    auto read = stategraph::detail::readJson(text, text_depth_max);
    if (read.error == json::error::too_deep) {
        throw InvalidArgumentError("the schema has more than " + std::to_string(text_depth_max) +
                                   " objects and lists inside each other");
    }
    if (read.error) throw InvalidArgumentError("the schema is not JSON: " + read.error.message());
    if (read.hasRepeatedMember()) throw InvalidArgumentError("the schema has an object with a member twice");
    const auto schema = std::make_shared<Schema>();
    schema->text = std::move(read.value);
    Reader reader(*schema);
    reader.run();
    reader.compilePatterns();
    linkSchemas(*schema);
    return schema;
}

}  // namespace stategraph::schema
