#include "checkpoint/commit_fields.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <stategraph/error.hpp>

#include "checkpoint/record_frame.hpp"
#include "checkpoint/sealed_record.hpp"
#include "src/value/bytes.hpp"

namespace stategraph {

const char* toString(Source source) noexcept {
    switch (source) {
        case Source::input:
            return "input";
        case Source::loop:
            return "loop";
        case Source::update:
            return "update";
        case Source::fork:
            return "fork";
    }
    return "?";
}

}  // namespace stategraph

namespace stategraph::checkpoint {
namespace {

std::uint64_t readFingerprint(Decoder& in) {
    const std::string_view raw = in.bytes();
    if (raw.size() != 8) throw WrongTypeError("expected a fingerprint of 8 bytes");
    return detail::loadBigEndian(raw);
}

// Metadata: whoever reads it relies on this.
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

// A comparison with a name of known size is one of a register or two.
template <std::size_t Size>
bool is(std::string_view key, const char (&name)[Size]) noexcept {
    return key.size() == Size - 1 && std::memcmp(key.data(), name, Size - 1) == 0;
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

void readHeaderField(std::string_view ns, std::string_view key, Decoder& in, CommitFields& commit) {
    if (is(key, "ran")) {
        if (in.tryNull()) {
            commit.ran.kind = Ran::Kind::several;
        } else {
            commit.ran = {Ran::Kind::one, in.text()};
        }
    } else if (is(key, "base")) {
        commit.base = readRef(in, commit.id);
    } else if (is(key, "next")) {
        readNames(in, commit.next);
    } else if (is(key, "step")) {
        commit.step = in.integer();
    } else if (is(key, "edges")) {
        commit.edges = readNames(in);
    } else if (is(key, "folds")) {
        commit.folds = in.unsignedInteger();
    } else if (is(key, "graph")) {
        commit.graph = readFingerprint(in);
    } else if (is(key, "input")) {
        commit.input = in.raw();
    } else if (is(key, "joins")) {
        commit.joins.resize(in.map());
        for (auto& join : commit.joins) {
            join.key = in.text();
            join.arrived = readNames(in);
        }
    } else if (is(key, "sends")) {
        commit.sends = readSends(in);
    } else if (is(key, "parent")) {
        commit.parent = readRef(in, commit.id);
    } else if (is(key, "schema")) {
        commit.schema = readFingerprint(in);
    } else if (is(key, "source")) {
        commit.source = readSource(in);
    } else if (is(key, "visits")) {
        commit.has_all_visits = readVisits(in, [&commit](std::string_view log, CheckpointId id) {
            commit.visits.push_back({log, id});
        });
    } else if (is(key, "parents")) {
        readParents(ns, in, commit.parents);
    } else if (is(key, "deferred")) {
        commit.deferred.resize(in.map());
        for (auto& deferred : commit.deferred) {
            deferred.key = in.text();
            const std::uint64_t state = in.unsignedInteger();
            if (state > 2) throw WrongTypeError("unknown state of a deferred edge");
            deferred.state = static_cast<Deferral>(state);
        }
    } else if (is(key, "metadata")) {
        commit.metadata = in.raw();
        requireEntries(commit.metadata);
    } else {
        in.skip();  // of a later minor version
        commit.says_more = true;
    }
}

LoggedOp readOperation(Decoder& in) {
    LoggedOp operation;
    operation.channel = in.text();
    operation.is_as_input = in.peek() == Decoder::Type::text;
    const std::size_t parts = operation.is_as_input ? 0 : in.array();
    const std::string_view kind = in.text();
    const bool is_known =
        operation.is_as_input ? isOneOf("=+|", kind) : isOneOf("=+|~-", kind) && parts == (kind[0] == '-' ? 1U : 2U);
    if (!is_known) throw WrongTypeError("unknown operation on channel '" + std::string(operation.channel) + "'");
    operation.op = static_cast<LogOp>(kind[0]);
    if (parts == 2) operation.value = in.raw();
    return operation;
}

// As `Decoder::raw`, and what it passes over besides.
std::string_view readOperations(Decoder& in, std::vector<LoggedOp>& operations) {
    const std::string_view before = in.rest();
    operations.resize(in.map());
    {
        const Decoder::Nesting map(in);
        const Decoder::Nesting operation_list(in);
        for (auto& operation : operations) operation = readOperation(in);
    }
    return before.substr(0, before.size() - in.rest().size());
}

std::string_view loggedValue(const LoggedWrite& write, std::span<const LoggedOp> operations) {
    const auto said = std::find_if(operations.begin(), operations.end(),
                                   [&](const LoggedOp& op) { return op.channel == write.channel; });
    if (said == operations.end() || said->op == LogOp::clear) {
        throw WrongTypeError("a write to channel '" + std::string(write.channel) +
                             "' stands for an operation that is not there");
    }
    return said->value;
}

// Returns of how many parts the commit is.
std::size_t readHeaderFields(std::string_view ns, Decoder& in, CommitFields& commit) {
    const std::size_t parts = in.array();
    if (parts < 2 || parts > 3) throw WrongTypeError("expected a header and operations");
    for (std::size_t fields = in.map(); fields > 0; --fields) {
        const std::string_view field = in.text();
        readHeaderField(ns, field, in, commit);
    }
    return parts;
}

}  // namespace

CommitFields readCommit(const RowKey& key, std::string_view bytes, bool header_only) {
    CommitFields commit;
    commit.id = key.id;
    commit.base = key.id;
    const std::string_view body = openRecord(key, bytes);
    try {
        Decoder in(body);
        const std::size_t parts = readHeaderFields(key.checkpoint_ns, in, commit);
        if (header_only) return commit;
        commit.operations = in.raw();
        if (parts == 3) commit.writes = in.raw();
        if (!in.atEnd()) throw WrongTypeError("there are bytes after its end");
        if (commit.input) readWrites(*commit.input);
        readCommitWrites(commit);
    } catch (const WrongTypeError& error) {
        corrupt(key, error.message());
    }
    return commit;
}

void CommitReader::read(const RowKey& key, std::string_view bytes) {
    fields.clear();
    fields.id = key.id;
    fields.base = key.id;
    size = bytes.size();
    const std::string_view body = openRecord(key, bytes);
    try {
        Decoder in(body);
        const std::size_t parts = readHeaderFields(key.checkpoint_ns, in, fields);
        fields.operations = readOperations(in, operations);
        for (const LoggedOp& operation : operations) fields.names_input = fields.names_input || operation.is_as_input;
        if (parts == 3) {
            fields.writes = in.raw();
            Decoder writes(*fields.writes);
            for (std::size_t count = writes.array(); count > 0; --count) {
                const LoggedWrite write = readWrite(writes, true);
                if (write.as_logged) loggedValue(write, operations);
            }
        }
        if (!in.atEnd()) throw WrongTypeError("there are bytes after its end");
        if (fields.input) readWrites(*fields.input);
    } catch (const WrongTypeError& error) {
        corrupt(key, error.message());
    }
}

void CommitFields::clear() {
    parent = base = {};
    step = 0;
    source = Source::loop;
    folds = 1;
    ran = {};
    next.clear();
    edges.reset();
    joins.clear();
    deferred.clear();
    sends.clear();
    parents.clear();
    visits.clear();
    has_all_visits = false;
    graph.reset();
    schema.reset();
    metadata = {};
    input.reset();
    writes.reset();
    operations = {};
    names_input = false;
    says_more = false;
}

std::vector<LoggedOp> readOperations(std::string_view cbor) {
    Decoder in(cbor);
    std::vector<LoggedOp> operations(in.map());
    for (auto& operation : operations) operation = readOperation(in);
    return operations;
}

std::vector<LoggedWrite> readCommitWrites(const CommitFields& commit) {
    if (!commit.writes) return {};
    return readCommitWrites(commit, readOperations(commit.operations));
}

std::vector<LoggedWrite> readCommitWrites(const CommitFields& commit, std::span<const LoggedOp> operations) {
    std::vector<LoggedWrite> writes;
    if (!commit.writes) return writes;
    Decoder in(*commit.writes);
    writes.resize(in.array());
    for (auto& write : writes) {
        write = readWrite(in, true);
        if (write.as_logged) write.value = loggedValue(write, operations);
    }
    return writes;
}

void writeLoggedOp(Encoder& out, std::string_view channel, LogOp op) {
    out.text(channel);
    out.array(op == LogOp::clear ? 1 : 2);
    const char letter = static_cast<char>(op);
    out.text({&letter, 1});
}

}  // namespace stategraph::checkpoint

namespace stategraph {

CommitHeader readHeader(const RowKey& key, std::string_view bytes) {
    const checkpoint::CommitFields fields = checkpoint::readCommit(key, bytes, true);
    CommitHeader header{.id = key.id,
                        .parent = fields.parent,
                        .base = fields.base,
                        .step = fields.step,
                        .source = fields.source,
                        .next = {},
                        .metadata = std::string(fields.metadata)};
    header.next.reserve(fields.next.size() + fields.sends.size() + 1);
    if (fields.input) header.next.emplace_back("__start__");
    for (const auto name : fields.next) header.next.emplace_back(name);
    for (const auto& send : fields.sends) header.next.emplace_back(send.node);
    return header;
}

RecordLinks readLinks(const RowKey& key, std::string_view bytes) {
    if (checkpoint::isSealed(bytes)) return checkpoint::readSealedLinks(key, bytes);
    const checkpoint::CommitFields fields = checkpoint::readCommit(key, bytes, true);
    RecordLinks links{.parent = fields.parent, .base = fields.base, .root = {}, .is_finished = false};
    links.is_finished = fields.next.empty() && fields.sends.empty() && !fields.input;
    for (const auto& parent : fields.parents) {
        if (parent.checkpoint_ns.empty()) links.root = parent.id;
    }
    links.has_all_visits = fields.has_all_visits;
    for (const auto& visit : fields.visits) links.visits.push_back({std::string(visit.log), visit.id});
    return links;
}

}  // namespace stategraph
