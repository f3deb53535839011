#include "src/checkpoint/commit_fields.hpp"

#include <algorithm>
#include <span>

#include <stategraph/error.hpp>

#include "src/checkpoint/commit_header.hpp"
#include "src/checkpoint/record_frame.hpp"
#include "src/checkpoint/sealed_record.hpp"

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

// Does the same as `Decoder::raw`, and also checks what it skips.
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
                             "' refers to an operation that does not exist");
    }
    return said->value;
}

// Returns the number of parts of the commit.
std::size_t readHeaderFields(std::string_view ns, Decoder& in, CommitFields& commit) {
    const std::size_t parts = in.array();
    if (parts < 2 || parts > 3) throw WrongTypeError("expected a header and operations");
    readHeader(ns, in, commit);
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

CommitWay readCheckedWay(const RowKey& key, std::string_view bytes) {
    if (isSealed(bytes)) return readWay(key, bytes);
    const CommitFields fields = readCommit(key, bytes, true);
    return {.parent = fields.parent, .base = fields.base, .step = fields.step};
}

CommitWay readWay(const RowKey& key, std::string_view bytes) {
    if (isSealed(bytes)) {
        const RecordLinks links = readSealedLinks(key, bytes);
        return {.parent = links.parent, .base = links.base};
    }
    CommitWay way{.parent = {}, .base = key.id, .step = 0};
    try {
        Decoder in(bodyOf(key, bytes));
        in.array();
        for (std::size_t fields = in.map(); fields > 0; --fields) {
            const std::string_view field = in.text();
            if (field == "base") {
                way.base = readRef(in, key.id);
            } else if (field == "step") {
                way.step = in.integer();
            } else if (field == "parent") {
                way.parent = readRef(in, key.id);
                break;  // the other fields come before it in the order of CBOR
            } else {
                in.skip();
            }
        }
    } catch (const WrongTypeError& error) {
        corrupt(key, error.message());
    }
    return way;
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
        for (const LoggedOp& operation : operations)
            fields.besides.names_input = fields.besides.names_input || operation.is_as_input;
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
    clearHeader(*this);
    writes.reset();
    operations = {};
    besides.names_input = false;
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

std::size_t openCommit(const CommitFields& c, std::size_t operations, std::string& out) {
    const std::size_t start = openFrame(out, c.besides.names_input ? naming_version : format_version);
    detail::StagedEncoder e(out);
    e.array(c.writes ? 3 : 2);
    writeHeader(c, e);
    e.map(operations);
    e.finish();
    return start;
}

void closeCommit(const CommitFields& c, std::size_t start, std::string& out) {
    if (c.writes) out.append(*c.writes);
    closeFrame(c.id, out, start);
}

void writeCommit(const CommitFields& c, std::string& out) {
    if (c.operations.empty()) return closeCommit(c, openCommit(c, 0, out), out);
    const std::size_t start = openFrame(out, c.besides.names_input ? naming_version : format_version);
    detail::StagedEncoder e(out);
    e.array(c.writes ? 3 : 2);
    writeHeader(c, e);
    e.raw(c.operations);
    e.finish();
    closeCommit(c, start, out);
}

void writeLoggedOp(Encoder& out, std::string_view channel, LogOp op) {
    detail::StagedEncoder staged(out.out());
    staged.text(channel);
    staged.array(op == LogOp::clear ? 1 : 2);
    const char letter = static_cast<char>(op);
    staged.text({&letter, 1});
    staged.finish();
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
    links.around = fields.around;
    links.has_all_visits = fields.besides.has_all_visits;
    for (const auto& visit : fields.visits) links.visits.push_back({std::string(visit.log), visit.id});
    return links;
}

}  // namespace stategraph
