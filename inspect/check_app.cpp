#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/export.hpp>
#include <stategraph/memory_saver.hpp>

#include "inspect/app/app_saver.hpp"
#include "inspect/commands.hpp"
#include "inspect/incompatible.hpp"

// `check --app`: a running program checks whether its graphs can resume the threads of a store.
namespace stategraph::inspect {
namespace {

// Threads are sent together up to this size.
constexpr std::size_t lines_a_request = std::size_t{4} << 20U;
constexpr std::size_t threads_a_request = 256;
// A request must have room for the rest of the message.
constexpr std::size_t thread_bytes_max = rows::request_bytes_max - 65536;

// Returns a thread as lines, without the checkpoints from which no run would resume.
std::string newestOf(BaseCheckpointSaver& saver, const std::string& thread_id) {
    std::stringstream lines;
    exportThread(saver, thread_id, lines);
    MemorySaver copy;
    importThread(copy, lines);
    copy.prune({.thread_id = thread_id, .keep_last = 1});
    std::ostringstream newest;
    exportThread(copy, thread_id, newest);
    return std::move(newest).str();
}

class Checker {
public:
    Checker(AppSaver& app, std::string graph) : app_(app), graph_(std::move(graph)) {}

    void checkOwn() {
        rows::Check wanted{.graph = graph_, .lines = {}, .after = {}};
        for (;;) {
            rows::Checked checked = app_.check(wanted);
            const auto next = checked.next;
            add(std::move(checked));
            if (!next) return;
            if (next == wanted.after) throw SaverError("the program checks the same threads again");
            wanted.after = next;
        }
    }
    void check(BaseCheckpointSaver& saver, const ListedCheckpoint& head) {
        std::string lines;
        try {
            if (!head.damaged.empty()) throw CorruptCheckpointError(head.damaged);
            lines = newestOf(saver, head.thread_id);
        } catch (const CorruptCheckpointError& error) {
            return addUnread(head, error.message());
        }
        if (lines.size() > thread_bytes_max)
            return addUnread(head,
                             "its newest checkpoint is too large to be sent; call checkCompatibility in the "
                             "program");
        if (lines_.size() + lines.size() > thread_bytes_max) flush();
        lines_ += lines;
        if (++waiting_ >= threads_a_request || lines_.size() > lines_a_request) flush();
    }
    void flush() {
        if (lines_.empty()) return;
        add(app_.check({.graph = graph_, .lines = std::exchange(lines_, {}), .after = {}}));
        waiting_ = 0;
    }

    std::uint64_t count() const noexcept { return count_; }
    const std::vector<IncompatibleView>& found() const noexcept { return found_; }

private:
    void add(rows::Checked checked) {
        count_ += checked.count;
        for (rows::Incompatible& thread : checked.threads) {
            found_.push_back({std::move(thread.thread), thread.id.id().toString(), std::move(thread.ns),
                              std::move(thread.node), std::move(thread.channel), std::move(thread.why)});
        }
    }
    void addUnread(const ListedCheckpoint& head, std::string why) {
        ++count_;
        found_.push_back({head.thread_id, head.id.toString(), {}, {}, {}, std::move(why)});
    }

    AppSaver& app_;
    const std::string graph_;
    std::string lines_;
    std::size_t waiting_ = 0;
    std::uint64_t count_ = 0;
    std::vector<IncompatibleView> found_;
};

}  // namespace

Exit checkApp(Call& call, const std::string& address) {
    const std::string graph = call.arguments.value("--name").value_or("");
    if (call.store == address) {
        auto& app = dynamic_cast<AppSaver&>(call.saver);
        Checker checker(app, graph);
        checker.checkOwn();
        return showIncompatible(
            call, checker.found(),
            " of " + std::to_string(checker.count()) + " threads cannot be resumed by this program");
    }
    AppSaver app(readAppAddress(address), false);
    Checker checker(app, graph);
    call.saver.forEachHead({}, threads_a_request, [&](const ListedCheckpoint& head) {
        checker.check(call.saver, head);
        return true;
    });
    checker.flush();
    return showIncompatible(call, checker.found(),
                            " of " + std::to_string(checker.count()) + " threads cannot be resumed by this program");
}

}  // namespace stategraph::inspect
