#include <stategraph/export.hpp>

#include <algorithm>
#include <ostream>
#include <set>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/version.hpp>

#include "src/checkpoint/sealed_record.hpp"
#include "src/commands/exported_graphs.hpp"
#include "src/commands/links.hpp"
#include "src/commands/thread_line.hpp"

// exportThread: writes the rows of a thread as lines of JSON.
namespace stategraph {
namespace {

using commands::LineWriter;

// The number of rows that are in memory at once.
constexpr std::size_t rows_at_once = 32;

std::string libraryVersion() {
    return std::to_string(STATEGRAPH_VERSION_MAJOR) + "." + std::to_string(STATEGRAPH_VERSION_MINOR) + "." +
           std::to_string(STATEGRAPH_VERSION_PATCH);
}

class Exporter {
public:
    Exporter(BaseCheckpointSaver& saver, std::string_view thread_id, std::ostream& out, const ExportOptions& options)
        : saver_(saver), out_(out), options_(options) {
        done_.thread_id = thread_id;
    }

    ThreadRows run() {
        // The root's log is read first, so that the logs of subgraphs already contain what it says about them.
        writeLog("");
        std::vector<std::string> namespaces;
        for (const auto& head : saver_.list({.thread_id = done_.thread_id, .heads = true})) {
            if (!head.checkpoint_ns.empty()) namespaces.push_back(head.checkpoint_ns);
        }
        for (const std::string& ns : namespaces) writeLog(ns);
        writeGraphs();
        if (done_.commits == 0) {
            throw InvalidArgumentError(
                "there is nothing to export: the thread has no checkpoint; check its name, or list the saver's "
                "threads");
        }
        write(LineWriter()
                  .boolean("end", true)
                  .number("commits", done_.commits)
                  .number("writes", done_.writes)
                  .number("graphs", done_.graphs)
                  .text("xxh3", hash_.text()));
        out_.flush();
        checkStream();
        return std::move(done_);
    }

private:
    void writeLog(const std::string& ns) {
        std::vector<checkpoint::CommitLinks> links;
        commands::LogGraphs graphs;
        ListQuery query{.thread_id = done_.thread_id, .checkpoint_ns = ns, .limit = rows_at_once, .with_writes = true};
        for (bool more = true; more;) {
            const std::vector<ListedCheckpoint> page = saver_.list(query);
            for (const ListedCheckpoint& row : page) links.push_back(writeRow(row, graphs));
            more = page.size() == rows_at_once;
            if (!page.empty()) query.before = page.back().id;
        }
        graphs.addTo(graphs_);
        std::ranges::reverse(links);
        if (const auto gap = commands::findUnreadable(links)) {
            throw CorruptCheckpointError(
                "the record " + RowKey{done_.thread_id, ns, links[*gap].id}.toString() + " cannot be read without " +
                links[*gap].parent.toString() +
                ", which is missing: if the thread was pruned while it was exported, export it again; else its log is "
                "damaged");
        }
    }

    checkpoint::CommitLinks writeRow(const ListedCheckpoint& row, commands::LogGraphs& graphs) {
        const RowKey key{row.thread_id, row.checkpoint_ns, row.id};
        checkSealed(key, row.bytes);
        const RecordLinks links = readLinks(key, row.bytes);
        graphs.add(key, row.bytes, links.parent);
        if (done_.commits == 0) writeHeader();
        write(LineWriter().text("ns", row.checkpoint_ns).text("commit", row.id.toString()).bytes("bytes", row.bytes));
        ++done_.commits;
        for (const StoredWrite& stored : row.writes) {
            checkSealed({row.thread_id, row.checkpoint_ns, row.id, stored.path}, stored.bytes);
            write(LineWriter()
                      .text("ns", row.checkpoint_ns)
                      .text("write", row.id.toString())
                      .text("path", stored.path)
                      .bytes("bytes", stored.bytes));
            ++done_.writes;
        }
        return {.id = row.id, .parent = links.parent, .base = links.base};
    }

    void writeGraphs() {
        commands::forEachDescription(saver_, graphs_, [this](const GraphFingerprint& graph, std::string_view bytes) {
            write(LineWriter().text("graph", Value(graph).as<std::string>()).bytes("bytes", bytes));
            ++done_.graphs;
        });
    }

    void writeHeader() {
        write(LineWriter()
                  .text("format", commands::format_name)
                  .number("version", commands::format_version)
                  .text("thread", done_.thread_id)
                  .text("library", libraryVersion())
                  .boolean("sealed", options_.sealed));
    }

    void checkSealed(const RowKey& key, std::string_view bytes) const {
        if (options_.sealed || !checkpoint::isSealed(bytes)) return;
        throw InvalidArgumentError("the record " + key.toString() +
                                   " is encrypted: export the thread through its EncryptedSaver, or set "
                                   "ExportOptions::sealed to export it as it is stored");
    }

    void write(LineWriter& made) {
        const std::string line = std::move(made).finish();
        hash_.add(line);
        out_.write(line.data(), static_cast<std::streamsize>(line.size()));
        checkStream();
    }

    void checkStream() const {
        if (!out_) throw SaverError("the thread is exported in part only: the stream cannot be written (a full disk?)");
    }

    BaseCheckpointSaver& saver_;
    std::ostream& out_;
    const ExportOptions& options_;
    commands::LineHash hash_;
    std::set<GraphFingerprint> graphs_;
    ThreadRows done_;
};

}  // namespace

ThreadRows exportThread(BaseCheckpointSaver& saver, const ThreadId& thread_id, std::ostream& out,
                        const ExportOptions& options) {
    if (thread_id.empty()) throw InvalidArgumentError("exportThread: the thread id is empty; name the thread");
    try {
        return Exporter(saver, thread_id.view(), out, options).run();
    } catch (Error& error) {
        error.addContext({.thread_id = thread_id.toString()});
        throw;
    }
}

}  // namespace stategraph
