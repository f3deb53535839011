#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <stategraph/value.hpp>

#include "inspect/http/api.hpp"
#include "inspect/store.hpp"

namespace stategraph::inspect {

/// Thrown if the request is understood and refused.
struct Refused {
    int status;
    std::string text;
};

/// One request, with the thread and the checkpoint that its path names.
struct ApiCall {
    Api& api;
    const serve::HandlerRequest& request;
    std::string thread = {};
    /// An id, "newest", or empty.
    std::string checkpoint = {};

    /// Returns the parameter's text, or an empty text if there is none.
    std::string text(const std::string& name) const;
    /// Throws InvalidArgumentError for a text that is not a number in this range.
    std::size_t number(const std::string& name, std::size_t otherwise, std::size_t least, std::size_t most) const;
    /// Returns the checkpoint that the path and `ns` name. Errors: InvalidArgumentError for an invalid id.
    Config config() const;
    /// Does the same for a checkpoint that must exist, and fills in the id of the newest. Errors: NotFound.
    Config existing() const;
    /// Throws NotFound for the checkpoint, or the thread, that the request names.
    [[noreturn]] void failMissing() const;
    /// Returns the request's body. Errors: as fromJson.
    template <class T>
    T body() const {
        return fromJson<T>(request.body.empty() ? std::string_view("{}") : request.body);
    }
};

/// Returns an answer whose body is a struct as JSON.
template <class View>
serve::HandlerAnswer json(const View& view) {
    return {.body = toJson(view) + "\n"};
}

/// Larger threads are neither exported nor copied into memory for a page.
constexpr std::size_t page_thread_bytes_max = std::size_t{256} << 20U;

/// What one search for a step may read: entries of the log, and checkpoints and bytes of states, beyond which the
/// client continues it with another request.
constexpr std::size_t first_step_entries_max = 50'000;
constexpr std::size_t first_step_reads_max = 1000;
constexpr std::size_t first_step_bytes_max = std::size_t{16} << 20U;

struct ApiRow {
    enum class Needs : std::uint8_t { nothing, write, graph };
    std::string_view method;
    /// The path after /api/, such as "threads/:thread/timeline".
    std::string_view path;
    serve::HandlerAnswer (*run)(ApiCall& call);
    Needs needs = Needs::nothing;
    /// A client that accepts text/event-stream is sent the answer again when it has changed, which is checked at this
    /// interval. 0 means that the answer cannot be followed.
    std::chrono::milliseconds follow = {};
};

/// Returns the answer to a call, and sends later ones when they differ. Errors: those of the first answer.
serve::HandlerAnswer followed(ApiCall& call, const ApiRow& row);
/// Counts a client that follows the server for as long as the result exists. Errors: Refused (503) for one too many.
std::shared_ptr<void> countedFollower(Api& api);

serve::HandlerAnswer about(ApiCall& call);
serve::HandlerAnswer threads(ApiCall& call);
serve::HandlerAnswer questions(ApiCall& call);
serve::HandlerAnswer logs(ApiCall& call);
serve::HandlerAnswer timeline(ApiCall& call);
serve::HandlerAnswer head(ApiCall& call);
serve::HandlerAnswer live(ApiCall& call);
serve::HandlerAnswer checkpoint(ApiCall& call);
serve::HandlerAnswer valuePage(ApiCall& call);
serve::HandlerAnswer wholeValue(ApiCall& call);
serve::HandlerAnswer changes(ApiCall& call);
serve::HandlerAnswer difference(ApiCall& call);
serve::HandlerAnswer causes(ApiCall& call);
serve::HandlerAnswer writers(ApiCall& call);
serve::HandlerAnswer firstStep(ApiCall& call);
serve::HandlerAnswer chart(ApiCall& call);
serve::HandlerAnswer graph(ApiCall& call);
serve::HandlerAnswer threadStats(ApiCall& call);
serve::HandlerAnswer deletion(ApiCall& call);
serve::HandlerAnswer storeStats(ApiCall& call);
serve::HandlerAnswer exportLines(ApiCall& call);
serve::HandlerAnswer storeAnswer(ApiCall& call);
serve::HandlerAnswer storeFork(ApiCall& call);
serve::HandlerAnswer storeEdit(ApiCall& call);
serve::HandlerAnswer storeRawEdit(ApiCall& call);
serve::HandlerAnswer copyWhole(ApiCall& call);
serve::HandlerAnswer pruneWhole(ApiCall& call);
serve::HandlerAnswer deleteWhole(ApiCall& call);
serve::HandlerAnswer beginRun(ApiCall& call);
serve::HandlerAnswer stopRun(ApiCall& call);
serve::HandlerAnswer checkThreads(ApiCall& call);
serve::HandlerAnswer queueOfWorkers(ApiCall& call);
serve::HandlerAnswer changeQueueOfWorkers(ApiCall& call);
serve::HandlerAnswer tupleRows(ApiCall& call);
serve::HandlerAnswer listRows(ApiCall& call);
serve::HandlerAnswer openRows(ApiCall& call);
serve::HandlerAnswer newestRows(ApiCall& call);
serve::HandlerAnswer dueRows(ApiCall& call);
serve::HandlerAnswer countRows(ApiCall& call);
serve::HandlerAnswer graphRow(ApiCall& call);
serve::HandlerAnswer sizeOfRows(ApiCall& call);
serve::HandlerAnswer putRows(ApiCall& call);
serve::HandlerAnswer deleteRows(ApiCall& call);
serve::HandlerAnswer copyRows(ApiCall& call);
serve::HandlerAnswer pruneRows(ApiCall& call);
serve::HandlerAnswer putGraphRow(ApiCall& call);

}  // namespace stategraph::inspect
