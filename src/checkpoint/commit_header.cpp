#include "src/checkpoint/commit_header.hpp"

#include <array>
#include <cstring>

#include <stategraph/error.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "src/checkpoint/record_parts.hpp"
#include "src/value/bytes.hpp"

// To add a field, add a member of CommitFields, a struct here, its place in HeaderFields, and its line in the grammar
// (record.hpp). A struct has these members:
//
//     name      the key
//     isThere   whether the field is written
//     write     writes the value
//     read      reads the value; `ns` is the log's namespace
//     clear     sets the value that an absent field has
namespace stategraph::checkpoint {
namespace {

using detail::StagedEncoder;

std::uint64_t readFingerprint(Decoder& in) {
    const std::string_view raw = in.bytes();
    if (raw.size() != 8) throw WrongTypeError("expected a fingerprint of 8 bytes");
    return detail::loadBigEndian(raw);
}

void writeFingerprint(StagedEncoder& out, std::uint64_t value) {
    std::array<char, 8> raw;
    detail::storeBigEndian(value, raw.data());
    out.bytes({raw.data(), raw.size()});
}

// Checks the entries of metadata, because its readers rely on them.
void requireEntries(std::string_view cbor) {
    Decoder in(cbor);
    for (std::size_t count = in.map(); count > 0; --count) {
        in.text();
        in.skip();
    }
}

Source readSource(Decoder& in) {
    const std::string_view text = in.text();
    for (const Source source : {Source::input, Source::loop, Source::update, Source::fork}) {
        if (text == toString(source)) return source;
    }
    throw WrongTypeError("unknown source '" + std::string(text) + "'");
}

// At most this many parents are written with their namespaces.
constexpr std::size_t named_parents_max = 8;

// Returns whether each namespace is that of the enclosing graph with one more segment. This is determined without
// comparing characters.
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

void writeParents(StagedEncoder& out, const std::vector<LoggedParent>& parents) {
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

void readParents(std::string_view ns, Decoder& in, std::vector<LoggedParent>& parents) {
    if (in.peek() == Decoder::Type::map) {
        parents.resize(in.map());
        for (auto& parent : parents) {
            parent.checkpoint_ns = in.text();
            parent.id = readId(in);
        }
        return;
    }
    parents.resize(in.array());
    std::size_t end = 0;  // of the namespace of the graph that is next
    for (auto& parent : parents) {
        if (end == std::string_view::npos)
            throw WrongTypeError("its namespace is nested less deeply than it has parents");
        parent.checkpoint_ns = ns.substr(0, end);
        parent.id = readId(in);
        end = ns.find('|', end == 0 ? 0 : end + 1);
    }
    if (end != std::string_view::npos) throw WrongTypeError("its namespace is nested more deeply than it has parents");
}

struct RanField {
    static constexpr char name[] = "ran";
    static bool isThere(const CommitFields& c) noexcept { return c.ran.kind != Ran::Kind::unchanged; }
    static void write(const CommitFields& c, StagedEncoder& out) {
        if (c.ran.kind == Ran::Kind::one) {
            out.text(c.ran.node);
        } else {
            out.null();
        }
    }
    static void read(std::string_view, Decoder& in, CommitFields& c) {
        if (in.tryNull()) {
            c.ran.kind = Ran::Kind::several;
        } else {
            c.ran = {Ran::Kind::one, in.text()};
        }
    }
    static void clear(CommitFields& c) { c.ran = {}; }
};
struct BaseField {
    static constexpr char name[] = "base";
    static bool isThere(const CommitFields& c) noexcept { return c.base && c.base != c.id; }
    static void write(const CommitFields& c, StagedEncoder& out) { writeRef(out, c.id, c.base); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.base = readRef(in, c.id); }
    static void clear(CommitFields& c) { c.base = {}; }
};
struct NextField {
    static constexpr char name[] = "next";
    static bool isThere(const CommitFields& c) noexcept { return !c.next.empty(); }
    static void write(const CommitFields& c, StagedEncoder& out) { writeNames(out, c.next); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { readNames(in, c.next); }
    static void clear(CommitFields& c) { c.next.clear(); }
};
struct StepField {
    static constexpr char name[] = "step";
    static bool isThere(const CommitFields&) noexcept { return true; }
    static void write(const CommitFields& c, StagedEncoder& out) { out.integer(c.step); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.step = in.integer(); }
    static void clear(CommitFields& c) { c.step = 0; }
};
struct TookField {
    static constexpr char name[] = "took";
    static bool isThere(const CommitFields& c) noexcept { return c.took.has_value(); }
    static void write(const CommitFields& c, StagedEncoder& out) {
        if (c.took->commit_us) out.array(2);
        out.unsignedInteger(c.took->superstep_us);
        if (c.took->commit_us) out.unsignedInteger(*c.took->commit_us);
    }
    static void read(std::string_view, Decoder& in, CommitFields& c) {
        const bool has_commit = in.peek() == Decoder::Type::array;
        if (has_commit && in.array() != 2) throw WrongTypeError("expected the times of a superstep and of a commit");
        c.took = LoggedTook{.superstep_us = in.unsignedInteger()};
        if (has_commit) c.took->commit_us = in.unsignedInteger();
    }
    static void clear(CommitFields& c) { c.took.reset(); }
};
struct EdgesField {
    static constexpr char name[] = "edges";
    static bool isThere(const CommitFields& c) noexcept { return c.edges.has_value(); }
    static void write(const CommitFields& c, StagedEncoder& out) { writeNames(out, *c.edges); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.edges = readNames(in); }
    static void clear(CommitFields& c) { c.edges.reset(); }
};
struct FoldsField {
    static constexpr char name[] = "folds";
    static bool isThere(const CommitFields& c) noexcept { return c.folds != 1; }
    static void write(const CommitFields& c, StagedEncoder& out) { out.unsignedInteger(c.folds); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.folds = in.unsignedInteger(); }
    static void clear(CommitFields& c) { c.folds = 1; }
};
struct GraphField {
    static constexpr char name[] = "graph";
    static bool isThere(const CommitFields& c) noexcept { return c.graph.has_value(); }
    static void write(const CommitFields& c, StagedEncoder& out) { writeFingerprint(out, *c.graph); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.graph = readFingerprint(in); }
    static void clear(CommitFields& c) { c.graph.reset(); }
};
struct InputField {
    static constexpr char name[] = "input";
    static bool isThere(const CommitFields& c) noexcept { return c.input.has_value(); }
    static void write(const CommitFields& c, StagedEncoder& out) { out.raw(*c.input); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.input = in.raw(); }
    static void clear(CommitFields& c) { c.input.reset(); }
};
struct JoinsField {
    static constexpr char name[] = "joins";
    static bool isThere(const CommitFields& c) noexcept { return !c.joins.empty(); }
    static void write(const CommitFields& c, StagedEncoder& out) {
        out.map(c.joins.size());
        for (const auto& join : c.joins) {
            out.text(join.key);
            writeNames(out, join.arrived);
        }
    }
    static void read(std::string_view, Decoder& in, CommitFields& c) {
        c.joins.resize(in.map());
        for (auto& join : c.joins) {
            join.key = in.text();
            join.arrived = readNames(in);
        }
    }
    static void clear(CommitFields& c) { c.joins.clear(); }
};
struct SendsField {
    static constexpr char name[] = "sends";
    static bool isThere(const CommitFields& c) noexcept { return !c.sends.empty(); }
    static void write(const CommitFields& c, StagedEncoder& out) { writeSends(out, c.sends); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.sends = readSends(in); }
    static void clear(CommitFields& c) { c.sends.clear(); }
};
struct AroundField {
    static constexpr char name[] = "around";
    static bool isThere(const CommitFields& c) noexcept { return c.around.has_value(); }
    static void write(const CommitFields& c, StagedEncoder& out) { writeId(out, *c.around); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.around = readId(in); }
    static void clear(CommitFields& c) { c.around.reset(); }
};
struct ParentField {
    static constexpr char name[] = "parent";
    static bool isThere(const CommitFields& c) noexcept { return !c.parent.empty(); }
    static void write(const CommitFields& c, StagedEncoder& out) { writeRef(out, c.id, c.parent); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.parent = readRef(in, c.id); }
    static void clear(CommitFields& c) { c.parent = {}; }
};
struct SchemaField {
    static constexpr char name[] = "schema";
    static bool isThere(const CommitFields& c) noexcept { return c.schema.has_value(); }
    static void write(const CommitFields& c, StagedEncoder& out) { writeFingerprint(out, *c.schema); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.schema = readFingerprint(in); }
    static void clear(CommitFields& c) { c.schema.reset(); }
};
struct SourceField {
    static constexpr char name[] = "source";
    static bool isThere(const CommitFields& c) noexcept { return c.source != Source::loop; }
    static void write(const CommitFields& c, StagedEncoder& out) { out.text(toString(c.source)); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.source = readSource(in); }
    static void clear(CommitFields& c) { c.source = Source::loop; }
};
struct VisitsField {
    static constexpr char name[] = "visits";
    static bool isThere(const CommitFields& c) noexcept { return c.besides.has_all_visits || !c.visits.empty(); }
    static void write(const CommitFields& c, StagedEncoder& out) {
        writeVisits(out, c.visits, c.besides.has_all_visits);
    }
    static void read(std::string_view, Decoder& in, CommitFields& c) {
        c.besides.has_all_visits = readVisits(in, [&c](std::string_view log, CheckpointId id) {
            c.visits.push_back({log, id});
        });
    }
    static void clear(CommitFields& c) {
        c.visits.clear();
        c.besides.has_all_visits = false;
    }
};
struct FailureField {
    static constexpr char name[] = "failure";
    static bool isThere(const CommitFields& c) noexcept { return c.failure.has_value(); }
    static void write(const CommitFields& c, StagedEncoder& out) { out.text(*c.failure); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.failure = in.text(); }
    static void clear(CommitFields& c) { c.failure.reset(); }
};
struct ParentsField {
    static constexpr char name[] = "parents";
    static bool isThere(const CommitFields& c) noexcept { return !c.parents.empty(); }
    static void write(const CommitFields& c, StagedEncoder& out) { writeParents(out, c.parents); }
    static void read(std::string_view ns, Decoder& in, CommitFields& c) { readParents(ns, in, c.parents); }
    static void clear(CommitFields& c) { c.parents.clear(); }
};
struct AttemptsField {
    static constexpr char name[] = "attempts";
    static bool isThere(const CommitFields& c) noexcept { return c.attempts != 1; }
    static void write(const CommitFields& c, StagedEncoder& out) { out.unsignedInteger(c.attempts); }
    static void read(std::string_view, Decoder& in, CommitFields& c) { c.attempts = in.unsignedInteger(); }
    static void clear(CommitFields& c) { c.attempts = 1; }
};
struct DeferredField {
    static constexpr char name[] = "deferred";
    static bool isThere(const CommitFields& c) noexcept { return !c.deferred.empty(); }
    static void write(const CommitFields& c, StagedEncoder& out) {
        out.map(c.deferred.size());
        for (const auto& deferred : c.deferred) {
            out.text(deferred.key);
            out.unsignedInteger(static_cast<std::uint64_t>(deferred.state));
        }
    }
    static void read(std::string_view, Decoder& in, CommitFields& c) {
        c.deferred.resize(in.map());
        for (auto& deferred : c.deferred) {
            deferred.key = in.text();
            const std::uint64_t state = in.unsignedInteger();
            if (state > 2) throw WrongTypeError("unknown state of a deferred edge");
            deferred.state = static_cast<Deferral>(state);
        }
    }
    static void clear(CommitFields& c) { c.deferred.clear(); }
};
struct MetadataField {
    static constexpr char name[] = "metadata";
    static bool isThere(const CommitFields& c) noexcept { return !c.metadata.empty(); }
    static void write(const CommitFields& c, StagedEncoder& out) { out.raw(c.metadata); }
    static void read(std::string_view, Decoder& in, CommitFields& c) {
        c.metadata = in.raw();
        requireEntries(c.metadata);
    }
    static void clear(CommitFields& c) { c.metadata = {}; }
};

// A comparison with a name of known size uses one or two registers.
template <std::size_t Size>
bool is(std::string_view key, const char (&name)[Size]) noexcept {
    return key.size() == Size - 1 && std::memcmp(key.data(), name, Size - 1) == 0;
}

// The compiler generates the code that a loop over the fields would execute.
template <class... Field>
struct FieldList {
    static std::size_t count(const CommitFields& c) noexcept { return (std::size_t{Field::isThere(c)} + ...); }
    static void write(const CommitFields& c, StagedEncoder& out) { (writeOne<Field>(c, out), ...); }
    static void read(std::string_view ns, std::string_view key, Decoder& in, CommitFields& c) {
        if ((readOne<Field>(ns, key, in, c) || ...)) return;
        in.skip();  // a field of a later minor version
        c.besides.says_more = true;
    }
    static void clear(CommitFields& c) { (Field::clear(c), ...); }

private:
    template <class One>
    static void writeOne(const CommitFields& c, StagedEncoder& out) {
        if (!One::isThere(c)) return;
        out.key(One::name);
        One::write(c, out);
    }
    template <class One>
    static bool readOne(std::string_view ns, std::string_view key, Decoder& in, CommitFields& c) {
        if (!is(key, One::name)) return false;
        One::read(ns, in, c);
        return true;
    }
};

// The fields are in the order of CBOR's canonical form, which has shorter keys first.
using HeaderFields = FieldList<RanField, BaseField, NextField, StepField, TookField, EdgesField, FoldsField, GraphField,
                               InputField, JoinsField, SendsField, AroundField, ParentField, SchemaField, SourceField,
                               VisitsField, FailureField, ParentsField, AttemptsField, DeferredField, MetadataField>;

}  // namespace

void writeHeader(const CommitFields& commit, detail::StagedEncoder& out) {
    out.map(HeaderFields::count(commit));
    HeaderFields::write(commit, out);
}

void readHeader(std::string_view ns, Decoder& in, CommitFields& commit) {
    for (std::size_t fields = in.map(); fields > 0; --fields) {
        const std::string_view key = in.text();
        HeaderFields::read(ns, key, in, commit);
    }
}

void clearHeader(CommitFields& commit) {
    HeaderFields::clear(commit);
    commit.besides.says_more = false;
}

}  // namespace stategraph::checkpoint
