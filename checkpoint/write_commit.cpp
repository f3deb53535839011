#include <array>

#include "checkpoint/commit_fields.hpp"
#include "checkpoint/record_frame.hpp"
#include "src/value/bytes.hpp"

// Commits as they are written. Members of the header stand in the order of CBOR's canonical form: shorter keys first.
namespace stategraph::checkpoint {
namespace {

void writeFingerprint(Encoder& out, std::uint64_t value) {
    std::array<char, 8> raw;
    detail::storeBigEndian(value, raw.data());
    out.bytes({raw.data(), raw.size()});
}

// How many parents are written with their namespaces.
constexpr std::size_t named_parents_max = 8;

// Whether each namespace is that of the enclosing graph and one segment more, which is seen without comparing them.
bool areNested(const std::vector<LoggedParent>& parents) noexcept {
    if (parents.size() < 2 || !parents[0].checkpoint_ns.empty()) return false;
    const std::string_view innermost = parents.back().checkpoint_ns;
    for (std::size_t i = 1; i < parents.size(); ++i) {
        const std::string_view ns = parents[i].checkpoint_ns;
        const std::string_view outer = parents[i - 1].checkpoint_ns;
        if (ns.data() != innermost.data() || ns.size() <= outer.size()) return false;
        const std::string_view segment = ns.substr(outer.empty() ? 0 : outer.size() + 1);
        if (!outer.empty() && ns[outer.size()] != '|') return false;
        if (segment.empty() || segment.find('|') != std::string_view::npos) return false;
    }
    return true;
}

void writeParents(Encoder& out, const std::vector<LoggedParent>& parents) {
    if (parents.size() > named_parents_max && areNested(parents)) {
        out.array(parents.size());
        for (const auto& parent : parents) writeId(out, parent.id);
        return;
    }
    out.map(parents.size());
    for (const auto& parent : parents) {
        out.text(parent.checkpoint_ns);
        writeId(out, parent.id);
    }
}

bool hasBase(const CommitFields& c) noexcept { return c.base && c.base != c.id; }

std::size_t countOfMembers(const CommitFields& c) noexcept {
    return (c.ran.kind != Ran::Kind::unchanged) + hasBase(c) + !c.next.empty() + 1 + c.edges.has_value() +
           (c.folds != 1) + c.graph.has_value() + c.input.has_value() + !c.joins.empty() + !c.sends.empty() +
           !c.parent.empty() + c.schema.has_value() + (c.source != Source::loop) + !c.parents.empty() +
           (c.has_all_visits || !c.visits.empty()) + !c.deferred.empty() + !c.metadata.empty();
}

// From "ran" to "input".
void writeFirstMembers(const CommitFields& c, Encoder& e) {
    if (c.ran.kind != Ran::Kind::unchanged) {
        e.text("ran");
        if (c.ran.kind == Ran::Kind::one) {
            e.text(c.ran.node);
        } else {
            e.null();
        }
    }
    if (hasBase(c)) {
        e.text("base");
        writeRef(e, c.id, c.base);
    }
    if (!c.next.empty()) {
        e.text("next");
        writeNames(e, c.next);
    }
    e.text("step");
    e.integer(c.step);
    if (c.edges) {
        e.text("edges");
        writeNames(e, *c.edges);
    }
    if (c.folds != 1) {
        e.text("folds");
        e.unsignedInteger(c.folds);
    }
    if (c.graph) {
        e.text("graph");
        writeFingerprint(e, *c.graph);
    }
    if (c.input) {
        e.text("input");
        e.raw(*c.input);
    }
}

// From "joins" to "metadata".
void writeLastMembers(const CommitFields& c, Encoder& e) {
    if (!c.joins.empty()) {
        e.text("joins");
        e.map(c.joins.size());
        for (const auto& join : c.joins) {
            e.text(join.key);
            writeNames(e, join.arrived);
        }
    }
    if (!c.sends.empty()) {
        e.text("sends");
        writeSends(e, c.sends);
    }
    if (c.parent) {
        e.text("parent");
        writeRef(e, c.id, c.parent);
    }
    if (c.schema) {
        e.text("schema");
        writeFingerprint(e, *c.schema);
    }
    if (c.source != Source::loop) {
        e.text("source");
        e.text(toString(c.source));
    }
    if (c.has_all_visits || !c.visits.empty()) {
        e.text("visits");
        writeVisits(e, c.visits, c.has_all_visits);
    }
    if (!c.parents.empty()) {
        e.text("parents");
        writeParents(e, c.parents);
    }
    if (!c.deferred.empty()) {
        e.text("deferred");
        e.map(c.deferred.size());
        for (const auto& deferred : c.deferred) {
            e.text(deferred.key);
            e.unsignedInteger(static_cast<std::uint64_t>(deferred.state));
        }
    }
    if (!c.metadata.empty()) {
        e.text("metadata");
        e.raw(c.metadata);
    }
}

// With the head of the list that the commit is.
void writeHeader(const CommitFields& c, Encoder& e) {
    e.array(c.writes ? 3 : 2);
    e.map(countOfMembers(c));
    writeFirstMembers(c, e);
    writeLastMembers(c, e);
}

}  // namespace

std::size_t openCommit(const CommitFields& c, std::size_t operations, std::string& out) {
    const std::size_t start = openFrame(out, c.names_input ? naming_version : format_version);
    Encoder e(out);
    writeHeader(c, e);
    e.map(operations);
    return start;
}

void closeCommit(const CommitFields& c, std::size_t start, std::string& out) {
    if (c.writes) Encoder(out).raw(*c.writes);
    closeFrame(c.id, out, start);
}

void writeCommit(const CommitFields& c, std::string& out) {
    if (c.operations.empty()) return closeCommit(c, openCommit(c, 0, out), out);
    const std::size_t start = openFrame(out, c.names_input ? naming_version : format_version);
    Encoder e(out);
    writeHeader(c, e);
    e.raw(c.operations);
    closeCommit(c, start, out);
}

}  // namespace stategraph::checkpoint
