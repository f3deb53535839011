#include "storage/store/check.hpp"

#include <cstddef>
#include <string>

#include <stategraph/error.hpp>

#include "src/value/times.hpp"
#include "storage/store/vectors.hpp"

namespace stategraph::stores {
namespace {

using namespace store_limits;

[[noreturn]] void refuse(const std::string& why) { throw InvalidArgumentError(why); }

// Refuses what is wrong in every call. No store contains a label that is empty or has a dot, so looking for one is a
// mistake too.
void checkLabels(const StoreNamespace& ns) {
    if (ns.size() > labels_max) {
        refuse("the namespace has " + std::to_string(ns.size()) + " labels; at most " + std::to_string(labels_max) +
               " are possible");
    }
    for (const std::string& label : ns) {
        if (label.empty()) refuse("a label of the namespace is empty; name it, or leave it out");
        if (label.find('.') != std::string::npos) {
            refuse("the label '" + label +
                   "' has a dot; give each part of the namespace a label of its own: {\"users\", \"alice\"}");
        }
        if (label.size() > label_bytes_max) {
            refuse("a label of the namespace has " + std::to_string(label.size()) + " bytes; at most " +
                   std::to_string(label_bytes_max) + " are possible");
        }
    }
}

void checkKey(const std::string& key) {
    if (key.empty() || key.size() > key_bytes_max) {
        refuse("the key has " + std::to_string(key.size()) + " bytes; it must have 1 to " +
               std::to_string(key_bytes_max));
    }
}

void checkTtl(std::chrono::milliseconds ttl, const char* name) {
    if (ttl.count() < 0 || ttl > ttl_max) {
        refuse(std::string(name) + " is " + times::textOf(ttl) + "; it must be 0 (for ever) to " +
               times::textOf(ttl_max) + " (a hundred years)");
    }
}

void checkLimit(std::size_t limit) {
    if (limit < 1 || limit > limit_max) {
        refuse("limit is " + std::to_string(limit) + "; it must be 1 to " + std::to_string(limit_max));
    }
}

void checkValue(const Value& value) {
    if (value.bytes().size() > value_bytes_max) {
        refuse("the value has " + std::to_string(value.bytes().size()) + " bytes; at most " +
               std::to_string(value_bytes_max) + " are possible");
    }
    Decoder in(value.bytes());
    if (in.peek() != Decoder::Type::map) {
        refuse(
            "the value is not a map; put a struct with a fields() table, a std::map with text keys or a JSON object");
    }
    for (std::size_t count = in.map(); count > 0; --count) {
        if (in.peek() != Decoder::Type::text)
            refuse("the value is a map with a key that is not text; fields have names");
        in.skip();
        in.skip();
    }
}

void checkItemName(const StoreNamespace& ns, const std::string& key) {
    checkLabels(ns);
    if (ns.empty()) refuse("the namespace is empty; an item has at least one label");
    checkKey(key);
}

void check(const GetOp& op) { checkItemName(op.ns, op.key); }

void check(const PutOp& op) {
    checkItemName(op.ns, op.key);
    if (!op.value) return;
    checkNamespace(op.ns);
    checkValue(*op.value);
    if (op.options.ttl) checkTtl(*op.options.ttl, "ttl");
    if (op.options.index) {
        for (const std::string& path : *op.options.index) (void)parsePath(path);
    }
}

void check(const SearchQuery& op) {
    checkLabels(op.namespace_prefix);
    checkLimit(op.limit);
}

void check(const NamespaceQuery& op) {
    checkLabels(op.prefix);
    checkLabels(op.suffix);
    checkLimit(op.limit);
    if (op.max_depth && *op.max_depth < 1) refuse("max_depth is 0; it must be at least 1");
}

}  // namespace

void checkNamespace(const StoreNamespace& ns) {
    checkLabels(ns);
    if (ns.empty()) refuse("the namespace is empty; an item has at least one label");
    if (ns.front() == "stategraph" || ns.front() == "langgraph") {
        refuse("the namespace begins with '" + ns.front() + "', which is reserved; begin it with another label");
    }
}

void checkOps(std::span<const StoreOp> ops) {
    if (ops.size() > batch_max) {
        refuse("the batch has " + std::to_string(ops.size()) + " operations; at most " + std::to_string(batch_max) +
               " are possible");
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
        try {
            std::visit([](const auto& op) { check(op); }, ops[i]);
        } catch (const InvalidArgumentError& error) {
            if (ops.size() == 1) throw;
            refuse("operation " + std::to_string(i + 1) + " of " + std::to_string(ops.size()) +
                   " in the batch: " + error.message());
        }
    }
}

void checkOptions(const StoreOptions& options) {
    if (options.default_ttl) checkTtl(*options.default_ttl, "default_ttl");
    if (options.index) checkIndex(*options.index);
}

}  // namespace stategraph::stores
