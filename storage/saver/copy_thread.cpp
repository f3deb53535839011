#include "storage/saver/copy_thread.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver_rules.hpp>

#include "src/value/next_id.hpp"

namespace stategraph::checkpoint {
namespace {

// How many rows a copy holds in memory at a time.
constexpr std::size_t copy_page = 32;

// All of a log, oldest first.
std::vector<CheckpointId> listIds(BaseCheckpointSaver& saver, const LogName& log) {
    std::vector<CheckpointId> ids;
    ListQuery query{
        .thread_id = std::string(log.thread_id), .checkpoint_ns = std::string(log.checkpoint_ns), .limit = copy_page};
    for (bool more = true; more; query.before = ids.back()) {
        const auto page = saver.list(query);
        for (const auto& row : page) ids.push_back(row.id);
        more = page.size() == copy_page;
        if (ids.empty()) break;
    }
    std::reverse(ids.begin(), ids.end());
    return ids;
}

// Some neighbouring rows of a log, oldest first, as they are now.
std::vector<ListedCheckpoint> readPage(BaseCheckpointSaver& saver, const LogName& log,
                                       std::span<const CheckpointId> ids) {
    auto page = saver.list({.thread_id = std::string(log.thread_id),
                            .checkpoint_ns = std::string(log.checkpoint_ns),
                            .before = detail::nextId(ids.back()),
                            .limit = ids.size(),
                            .with_writes = true});
    std::reverse(page.begin(), page.end());
    if (!std::equal(page.begin(), page.end(), ids.begin(), ids.end(),
                    [](const ListedCheckpoint& row, CheckpointId id) { return row.id == id; })) {
        throw ConcurrentUpdateError("the thread '" + std::string(log.thread_id) +
                                    "' was pruned or deleted while it was copied; copy it again");
    }
    return page;
}

class ThreadCopy {
public:
    ThreadCopy(BaseCheckpointSaver& ids, BaseCheckpointSaver& rows, std::string_view from, std::string_view to)
        : ids_(ids), rows_(rows), from_(from), to_(to) {}

    // A run may continue the thread meanwhile. The root's log is read before those of subgraphs, and copied after them
    // as it was then, so the copies of the others have all that it refers to.
    void readRoot() {
        root_ids_ = listIds(ids_, {from_, ""});
        if (!root_ids_.empty()) root_newest_ = readPage(rows_, {from_, ""}, std::span(root_ids_).last(1));
    }

    void copyLog(const std::string& ns) {
        const LogName source{from_, ns};
        const std::vector<CheckpointId> ids = ns.empty() ? root_ids_ : listIds(ids_, source);
        CheckpointId head;
        for (std::span<const CheckpointId> rest = ids; !rest.empty();) {
            const auto page_ids = rest.first(std::min(rest.size(), copy_page));
            rest = rest.subspan(page_ids.size());
            auto page = readPage(rows_, source, page_ids);
            if (ns.empty() && rest.empty()) page.back() = root_newest_.front();
            std::vector<CommitRow> commits;
            std::vector<WriteRow> writes;
            for (const auto& row : page) {
                const RecordLinks links = readLinks({from_, ns, row.id}, row.bytes);
                commits.push_back({row.id, links.parent, links.base, row.bytes});
                for (const auto& write : row.writes) writes.push_back({row.id, write.path, write.bytes});
            }
            rows_.put(
                {.log = {to_, ns}, .expected_head = head, .commits = commits, .writes = writes, .sync = rest.empty()});
            head = page_ids.back();
            has_stored_ = true;
            if (ns.empty()) root_head_ = head;
        }
    }

    // If the root has changed, the thread belongs to another writer now, and is not touched.
    void takeBack() noexcept {
        try {
            const auto root = ids_.getTuple({.log = {to_}});
            if (has_stored_ && (root ? root->head : CheckpointId()) == root_head_) ids_.deleteThread(to_);
        } catch (const std::exception&) {  // the first failure is the one to report
        }
    }

private:
    BaseCheckpointSaver& ids_;
    BaseCheckpointSaver& rows_;
    const std::string_view from_;
    const std::string_view to_;
    std::vector<CheckpointId> root_ids_;
    std::vector<ListedCheckpoint> root_newest_;
    bool has_stored_ = false;
    CheckpointId root_head_;
};

}  // namespace

void copyThreadRows(BaseCheckpointSaver& ids, BaseCheckpointSaver& rows, std::string_view from, std::string_view to) {
    checkCopyTarget(to);
    if (!ids.list({.thread_id = std::string(to), .limit = 1}).empty()) refuseCopy(from, to);
    // The root's log (the last of these) makes the copy a thread: until it exists, no reader looks for the others.
    std::set<std::string, std::greater<>> namespaces;
    ThreadCopy copy(ids, rows, from, to);
    try {
        copy.readRoot();
        for (const auto& row : ids.list({.thread_id = std::string(from), .heads = true}))
            namespaces.insert(row.checkpoint_ns);
        for (const std::string& ns : namespaces) copy.copyLog(ns);
    } catch (...) {
        copy.takeBack();
        throw;
    }
}

}  // namespace stategraph::checkpoint
