#include <algorithm>
#include <functional>
#include <istream>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/export.hpp>
#include <stategraph/record.hpp>

#include "src/checkpoint/record.hpp"
#include "src/checkpoint/repeated_values.hpp"
#include "src/checkpoint/sealed_record.hpp"
#include "src/commands/exported_graphs.hpp"
#include "src/commands/links.hpp"
#include "src/commands/store.hpp"
#include "src/commands/thread_line.hpp"
#include "src/threads/thread_claim.hpp"

// importThread: reads and checks all lines, and stores them only then.
namespace stategraph {
namespace {

using commands::Line;
using commands::LineFault;

struct ReadCommit {
    CheckpointId id;
    RecordLinks links;
    std::string bytes;
    std::size_t line;
};
struct ReadWrite {
    CheckpointId id;
    std::string path;
    std::string bytes;
    std::size_t line;
};
struct ReadLog {
    std::vector<ReadCommit> commits;
    std::vector<ReadWrite> writes;
};
// The root's log is stored last: until then no reader looks for the other logs.
using ReadLogs = std::map<std::string, ReadLog, std::greater<>>;

[[noreturn]] void refuseLine(std::size_t line, const std::string& why) {
    throw CorruptCheckpointError("line " + std::to_string(line) + " cannot be imported: " + why +
                                 "; nothing was stored");
}

CheckpointId idIn(Line& line, std::string_view name) {
    const std::string text = line.text(name);
    try {
        const CheckpointId id(text);
        if (!id.empty()) return id;
    } catch (const InvalidArgumentError&) {
    }
    throw LineFault{"its member '" + std::string(name) + "' is not the id of a checkpoint"};
}

class Importer {
public:
    Importer(std::istream& in, const ImportOptions& options) : lines_(in, options.line_bytes_max), options_(options) {}

    void read() {
        readHeader();
        while (!readRow()) {
        }
        for (auto& [ns, log] : logs_) check(ns, log);
    }

    const std::string& threadId() const noexcept { return thread_id_; }
    ReadLogs& logs() noexcept { return logs_; }
    const std::map<GraphFingerprint, std::string>& graphs() const noexcept { return graphs_; }
    ThreadRows counts() const {
        return {.thread_id = thread_id_, .commits = commits_, .writes = writes_, .graphs = graphs_.size()};
    }

private:
    // Adds the line's number to an error about the line that is being read.
    template <class F>
    auto inLine(F f) {
        try {
            return f();
        } catch (const LineFault& fault) {
            refuseLine(lines_.number(), fault.why);
        } catch (const CorruptCheckpointError& error) {
            refuseLine(lines_.number(), error.message());
        } catch (const WrongTypeError& error) {
            refuseLine(lines_.number(), "what it holds cannot be read: " + error.message());
        }
    }

    Line nextLine(const char* expected) {
        const auto text = lines_.next();
        if (!text) throw LineFault{std::string("the stream ends here, and ") + expected + " is missing"};
        return Line(*text);
    }

    void readHeader() {
        inLine([&] {
            Line line = nextLine("the header of an exported thread");
            if (line.text("format") != commands::format_name)
                throw LineFault{"it is not the header of a thread that exportThread wrote"};
            const std::uint64_t version = line.number("version");
            if (version != commands::format_version) {
                throw LineFault{"it is of version " + std::to_string(version) + ", and this library reads " +
                                std::to_string(commands::format_version) +
                                "; import it with the library that wrote it"};
            }
            const std::string named = line.text("thread");
            line.text("library");
            const bool sealed = line.boolean("sealed");
            line.finish();
            if (named.empty() || named.size() > ThreadId::size_max)
                throw LineFault{"its thread id must have 1 to " + std::to_string(ThreadId::size_max) + " bytes"};
            thread_id_ = options_.thread_id.empty() ? named : options_.thread_id.toString();
            is_renamed_ = thread_id_ != named;
            if (!sealed || options_.sealed) return;
            throw InvalidArgumentError(
                "the lines may have encrypted records: set ImportOptions::sealed, and import them into the saver that "
                "is "
                "inside an EncryptedSaver");
        });
    }

    // Returns true at the end.
    bool readRow() {
        return inLine([&] {
            Line line = nextLine("the line that ends an exported thread");
            if (line.has("end")) {
                readEnd(line);
                return true;
            }
            if (line.has("graph")) {
                readGraph(line);
                return false;
            }
            const std::string ns = line.text("ns");
            if (line.has("commit")) {
                readCommit(ns, line);
            } else {
                readWrite(ns, line);
            }
            return false;
        });
    }

    void readEnd(Line& line) {
        if (!line.boolean("end")) throw LineFault{"its member 'end' must be true"};
        const std::uint64_t commits = line.number("commits");
        const std::uint64_t writes = line.number("writes");
        const std::uint64_t graphs = line.number("graphs");
        if (line.has("xxh3") && line.text("xxh3") != lines_.checksumBefore())
            throw LineFault{"the lines before it are not those that were exported: their checksum is another"};
        line.finish();
        if (commits != commits_ || writes != writes_) {
            throw LineFault{"it counts " + std::to_string(commits) + " commits and " + std::to_string(writes) +
                            " pending writes, and there are " + std::to_string(commits_) + " and " +
                            std::to_string(writes_)};
        }
        if (graphs != graphs_.size()) {
            throw LineFault{"it counts " + std::to_string(graphs) + " descriptions of graphs, and there are " +
                            std::to_string(graphs_.size())};
        }
        if (commits_ == 0) throw LineFault{"the thread has no commits"};
    }

    void readCommit(const std::string& ns, Line& line) {
        const CheckpointId id = idIn(line, "commit");
        std::string bytes = line.bytes("bytes");
        line.finish();
        count(sizeof(ReadCommit) + ns.size() + bytes.size());
        const RowKey key{thread_id_, ns, id};
        if (isSealed(bytes)) {
            checkpoint::readSealed(key, bytes);
        } else {
            checkpoint::CommitReader reader;
            reader.read(key, bytes);
            if (reader.fields.writes) checkpoint::readCommitWrites(reader.fields, reader.operations);
            if (reader.fields.input) checkpoint::readWrites(*reader.fields.input);
        }
        RecordLinks links = readLinks(key, bytes);
        if (links.base.empty() || links.base > id || links.parent >= id)
            throw LineFault{"its record follows, or is read from, a commit that is not older"};
        logs_[ns].commits.push_back({id, std::move(links), std::move(bytes), lines_.number()});
        ++commits_;
    }

    void readWrite(const std::string& ns, Line& line) {
        const CheckpointId id = idIn(line, "write");
        std::string path = line.text("path");
        std::string bytes = line.bytes("bytes");
        line.finish();
        count(sizeof(ReadWrite) + ns.size() + path.size() + bytes.size());
        const RowKey key{thread_id_, ns, id, path};
        if (isSealed(bytes)) {
            checkpoint::readSealed(key, bytes);
            hasOpenInterrupt(key, bytes);
        } else {
            checkpoint::readTask(key, bytes);
        }
        logs_[ns].writes.push_back({id, std::move(path), std::move(bytes), lines_.number()});
        ++writes_;
    }

    void readGraph(Line& line) {
        const auto fingerprint = Value(line.text("graph")).as<GraphFingerprint>();
        std::string bytes = line.bytes("bytes");
        line.finish();
        count(sizeof(GraphFingerprint) + bytes.size());
        commands::descriptionOf(fingerprint, bytes);
        if (!graphs_.emplace(fingerprint, std::move(bytes)).second)
            throw LineFault{"the description of its graph occurs twice"};
    }

    bool isSealed(std::string_view bytes) const {
        if (!checkpoint::isSealed(bytes)) return false;
        if (!options_.sealed) throw LineFault{"its record is encrypted, and ImportOptions::sealed is not set"};
        if (is_renamed_)
            throw LineFault{"its record is encrypted for the thread that was exported, so the import cannot rename it"};
        return true;
    }

    void count(std::size_t bytes) {
        bytes_ += bytes;
        if (bytes_ <= options_.bytes_max) return;
        throw InvalidArgumentError("the rows up to line " + std::to_string(lines_.number()) + " need more than " +
                                   std::to_string(options_.bytes_max) +
                                   " bytes of memory; raise ImportOptions::bytes_max if they are meant to");
    }

    // Makes the checks that need several lines: order, links and duplicate rows.
    void check(const std::string& ns, ReadLog& log) const {
        std::ranges::sort(log.commits, {}, &ReadCommit::id);
        const auto same = std::ranges::adjacent_find(log.commits, {}, &ReadCommit::id);
        if (same != log.commits.end())
            refuseLine(std::max(same->line, std::next(same)->line),
                       "the commit " + same->id.toString() + " occurs twice");
        std::vector<checkpoint::CommitLinks> links;
        for (const ReadCommit& commit : log.commits)
            links.push_back({.id = commit.id, .parent = commit.links.parent, .base = commit.links.base});
        if (const auto gap = commands::findUnreadable(links)) {
            refuseLine(log.commits[*gap].line,
                       "its commit is read from " + links[*gap].parent.toString() + ", and no line has that commit");
        }
        for (const ReadCommit& commit : log.commits) checkNames(ns, log, commit);
        std::set<std::pair<CheckpointId, std::string_view>> rows;
        for (const ReadWrite& write : log.writes) {
            if (find(log, write.id) == nullptr)
                refuseLine(write.line, "no line has the commit " + write.id.toString() + " that it belongs to");
            if (!rows.emplace(write.id, write.path).second)
                refuseLine(write.line, "the pending write '" + write.path + "' occurs twice");
        }
    }

    static const ReadCommit* find(const ReadLog& log, CheckpointId id) {
        const auto found = std::ranges::lower_bound(log.commits, id, {}, &ReadCommit::id);
        return found == log.commits.end() || found->id != id ? nullptr : &*found;
    }

    // Checks operations that refer to values of the parent's input.
    void checkNames(const std::string& ns, const ReadLog& log, const ReadCommit& commit) const {
        if (checkpoint::isSealed(commit.bytes)) return;
        checkpoint::CommitReader reader;
        reader.read({thread_id_, ns, commit.id}, commit.bytes);
        if (!reader.fields.besides.names_input) return;
        const ReadCommit* const parent = find(log, commit.links.parent);
        checkpoint::CommitFields fields;
        if (parent != nullptr && !checkpoint::isSealed(parent->bytes))
            fields = checkpoint::readCommit({thread_id_, ns, parent->id}, parent->bytes, true);
        try {
            checkpoint::takeInputValues(reader.operations, fields.input);
        } catch (const WrongTypeError& error) {
            refuseLine(commit.line, error.message());
        }
    }

    commands::LineReader lines_;
    const ImportOptions& options_;
    std::string thread_id_;
    bool is_renamed_ = false;
    std::map<GraphFingerprint, std::string> graphs_;
    ReadLogs logs_;
    std::size_t commits_ = 0;
    std::size_t writes_ = 0;
    std::size_t bytes_ = 0;
};

void putLog(BaseCheckpointSaver& saver, const LogName& name, const ReadLog& log) {
    std::vector<CommitRow> commits;
    commits.reserve(log.commits.size());
    for (const ReadCommit& commit : log.commits)
        commits.push_back({commit.id, commit.links.parent, commit.links.base, commit.bytes});
    std::vector<WriteRow> writes;
    writes.reserve(log.writes.size());
    for (const ReadWrite& write : log.writes) writes.push_back({write.id, write.path, write.bytes});
    commands::store(saver, {.log = name, .expected_head = {}, .commits = commits, .writes = writes, .sync = true});
}

bool isGone(BaseCheckpointSaver& saver, const std::string& thread_id) noexcept {
    try {
        return saver.list({.thread_id = thread_id, .limit = 1}).empty();
    } catch (...) {
        return false;
    }
}

// After a failure, removes everything of the thread, unless its root is another process's. Errors: SaverError if that
// fails too, or if the thread stays.
void takeBack(BaseCheckpointSaver& saver, const std::string& thread_id, const ReadLogs& logs, const std::string& why) {
    const auto own = logs.find("");
    std::optional<CheckpointTuple> root;
    try {
        root = saver.getTuple({.log = {thread_id}});
        const bool has_own = own != logs.end() && !own->second.commits.empty();
        if (!root || (has_own && root->head == own->second.commits.back().id)) {
            saver.deleteThread(thread_id);
            return;
        }
    } catch (const std::exception& error) {
        if (isGone(saver, thread_id)) return;  // the thread could not be written in the first place
        throw SaverError("the import failed (" + why + "), and what was stored of it could not be deleted (" +
                             error.what() + "): delete the thread before you import it again",
                         {.thread_id = thread_id});
    }
    throw SaverError(
        "the import failed (" + why + "), and another process made the thread meanwhile; what it has stored stays",
        {.thread_id = thread_id});
}

void putAll(BaseCheckpointSaver& saver, const std::string& thread_id, const ReadLogs& logs) {
    bool has_stored = false;
    try {
        for (const auto& [ns, log] : logs) {
            putLog(saver, {thread_id, ns}, log);
            has_stored = true;
        }
    } catch (const ConcurrentUpdateError& error) {
        if (!has_stored) throw;
        throw ConcurrentUpdateError(
            "another process made the thread while it was imported, so its root log is not stored; logs of subgraphs "
            "that were stored before stay, and nothing reads them: " +
            error.message());
    } catch (const std::exception& error) {
        takeBack(saver, thread_id, logs, error.what());
        throw;
    } catch (...) {
        takeBack(saver, thread_id, logs, "an exception of another type");
        throw;
    }
}

}  // namespace

ThreadRows importThread(BaseCheckpointSaver& saver, std::istream& in, const ImportOptions& options) {
    if (options.line_bytes_max < 1 || options.bytes_max < 1)
        throw InvalidArgumentError("ImportOptions::line_bytes_max and bytes_max must be at least 1");
    Importer importer(in, options);
    importer.read();
    const std::string& thread_id = importer.threadId();
    try {
        engine::ThreadClaim claim;
        claim.acquire(saver, thread_id, OnBusy::reject, {});
        if (!saver.list({.thread_id = thread_id, .limit = 1}).empty()) {
            throw InvalidArgumentError(
                "cannot import the thread: it has checkpoints; delete it first, or give ImportOptions::thread_id "
                "another name");
        }
        for (const auto& [fingerprint, bytes] : importer.graphs())
            if (!saver.getGraph(fingerprint)) saver.putGraph(fingerprint, bytes);
        putAll(saver, thread_id, importer.logs());
    } catch (Error& error) {
        error.addContext({.thread_id = thread_id});
        throw;
    }
    return importer.counts();
}

}  // namespace stategraph
