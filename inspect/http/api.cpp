#include "inspect/http/api.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/read_checkpoint.hpp>

#include "inspect/http/api_call.hpp"
#include "inspect/terminal.hpp"

namespace stategraph::inspect {
namespace {

using Needs = ApiRow::Needs;

// A head is one record, so it is checked more often than a list, which is as large as its page.
constexpr std::chrono::milliseconds head_every{100};
constexpr std::chrono::milliseconds list_every{1000};

constexpr ApiRow rows[] = {
    {"GET", "about", about},
    {"GET", "threads", threads, Needs::nothing, list_every},
    {"GET", "questions", questions, Needs::nothing, list_every},
    {"GET", "stats", storeStats},
    {"GET", "queue", queueOfWorkers, Needs::nothing, list_every},
    {"POST", "queue/change", changeQueueOfWorkers, Needs::write},
    {"GET", "threads/:thread/logs", logs},
    {"GET", "threads/:thread/timeline", timeline},
    {"GET", "threads/:thread/head", head, Needs::nothing, head_every},
    {"GET", "threads/:thread/live", live},
    {"GET", "threads/:thread/stats", threadStats},
    {"GET", "threads/:thread/deletion", deletion},
    {"GET", "threads/:thread/export", exportLines},
    {"GET", "threads/:thread/checkpoints/:checkpoint", checkpoint},
    {"GET", "threads/:thread/checkpoints/:checkpoint/values", valuePage},
    {"GET", "threads/:thread/checkpoints/:checkpoint/value", wholeValue},
    {"GET", "threads/:thread/checkpoints/:checkpoint/changes", changes},
    {"GET", "threads/:thread/checkpoints/:checkpoint/difference", difference},
    {"GET", "threads/:thread/checkpoints/:checkpoint/causes", causes},
    {"GET", "threads/:thread/checkpoints/:checkpoint/writers", writers},
    {"GET", "threads/:thread/checkpoints/:checkpoint/first", firstStep},
    {"GET", "threads/:thread/checkpoints/:checkpoint/chart", chart},
    {"GET", "threads/:thread/checkpoints/:checkpoint/graph", graph},
    {"POST", "threads/:thread/answer", storeAnswer, Needs::write},
    {"POST", "threads/:thread/checkpoints/:checkpoint/fork", storeFork, Needs::write},
    {"POST", "threads/:thread/checkpoints/:checkpoint/edit", storeEdit, Needs::graph},
    {"POST", "threads/:thread/checkpoints/:checkpoint/raw_edit", storeRawEdit, Needs::write},
    {"POST", "threads/:thread/copy", copyWhole, Needs::write},
    {"POST", "threads/:thread/prune", pruneWhole, Needs::write},
    {"POST", "threads/:thread/delete", deleteWhole, Needs::write},
    {"POST", "threads/:thread/run", beginRun, Needs::graph},
    {"POST", "threads/:thread/stop", stopRun, Needs::graph},
    {"POST", "rows/tuple", tupleRows},
    {"POST", "rows/list", listRows},
    {"POST", "rows/open", openRows},
    {"POST", "rows/newest", newestRows},
    {"POST", "rows/due", dueRows},
    {"POST", "rows/count", countRows},
    {"POST", "rows/graph", graphRow},
    {"POST", "rows/size", sizeOfRows},
    {"POST", "rows/put", putRows, Needs::write},
    {"POST", "rows/delete", deleteRows, Needs::write},
    {"POST", "rows/copy", copyRows, Needs::write},
    {"POST", "rows/prune", pruneRows, Needs::write},
    {"POST", "rows/put_graph", putGraphRow, Needs::write},
    {"POST", "check", checkThreads},
};

bool fits(std::string_view path, ApiCall& call) {
    for (const std::string& segment : call.request.segments) {
        if (path.empty()) return false;
        const std::string_view wanted = path.substr(0, path.find('/'));
        path.remove_prefix(std::min(wanted.size() + 1, path.size()));
        if (wanted == ":thread") {
            call.thread = segment;
        } else if (wanted == ":checkpoint") {
            call.checkpoint = segment;
        } else if (wanted != segment) {
            return false;
        }
    }
    return path.empty();
}

const ApiRow& rowOf(ApiCall& call) {
    const std::string_view method = call.request.request.method();
    std::string others;
    for (const ApiRow& row : rows) {
        if (!fits(row.path, call)) continue;
        if (row.method == method || (row.method == "GET" && method == "HEAD")) return row;
        others.append(others.empty() ? "" : " or ").append(row.method);
    }
    if (!others.empty()) throw Refused{405, "this operation takes " + others + ", not " + std::string(method)};
    throw Refused{404, "there is no such operation; docs/inspector_api.md lists them"};
}

// Compares in a time that is the same for any key of this length.
bool isKey(std::string_view given, std::string_view wanted) noexcept {
    if (given.size() != wanted.size()) return false;
    unsigned differs = 0;
    for (std::size_t i = 0; i < given.size(); ++i)
        differs |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(wanted[i]);
    return differs == 0;
}

void admit(const Api& api, const serve::HandlerRequest& request) {
    if (!api.hasKey(request.request))
        throw Refused{401, "the key is missing or wrong; open the address that the program has printed"};
    if (request.request.method() != "POST") return;
    const std::string_view origin = request.request.header("Origin");
    if (!origin.empty() && origin != "http://" + std::string(request.request.header("Host")))
        throw Refused{403, "a page of another origin may not write here"};
}

serve::HandlerAnswer refusal(const Refused& why) {
    struct View {
        std::string error;
        static constexpr auto fields() { return stategraph::fields(field("error", &View::error)); }
    };
    // A name that is not UTF-8 would make a byte string of the text.
    return {.status = why.status, .body = toJson(View{plain(why.text)}) + "\n"};
}

}  // namespace

std::string ApiCall::text(const std::string& name) const {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
}

std::size_t ApiCall::number(const std::string& name, std::size_t otherwise, std::size_t least, std::size_t most) const {
    const std::string given = text(name);
    if (given.empty()) return otherwise;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
    if (error != std::errc() || end != given.data() + given.size() || number < least || number > most) {
        throw InvalidArgumentError(name + " must be a whole number from " + std::to_string(least) + " to " +
                                   std::to_string(most));
    }
    return number;
}

Config ApiCall::config() const {
    Config config{.thread_id = ThreadId(thread), .checkpoint_id = {}, .checkpoint_ns = text("ns")};
    if (!checkpoint.empty() && checkpoint != "newest") config.checkpoint_id = CheckpointId(checkpoint);
    return config;
}

Config ApiCall::existing() const {
    Config found = config();
    const auto tuple = api.saver().getTuple(
        {.log = {found.thread_id.view(), found.checkpoint_ns}, .checkpoint_id = found.checkpoint_id});
    if (!tuple) failMissing();
    found.checkpoint_id = tuple->id;
    return found;
}

void ApiCall::failMissing() const {
    const std::string ns = text("ns");
    const std::string where = ns.empty() ? "" : " in namespace '" + ns + "'";
    if (checkpoint.empty() || checkpoint == "newest") throw NotFound{"there is no thread '" + thread + "'" + where};
    throw NotFound{"thread '" + thread + "' has no checkpoint '" + checkpoint + "'" + where};
}

Api::Api(std::shared_ptr<BaseCheckpointSaver> saver, ServerOptions options)
    : saver_(std::move(saver)),
      options_(std::move(options)),
      redaction_(options_.redact),
      cache_(8, std::size_t{256} << 20U),
      runs_(64) {
    if (!saver_) throw InvalidArgumentError("inspect::Server needs a saver; it was given none");
}

void Api::add(const std::string& name, std::shared_ptr<ServedGraph> graph) {
    const stategraph::detail::LockGuard lock(mutex_);
    if (name.empty() || !graphs_.emplace(name, std::move(graph)).second)
        throw InvalidArgumentError("inspect::Server::add needs a name that is not taken: '" + name + "'");
}

std::map<std::string, std::shared_ptr<ServedGraph>> Api::graphs() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return graphs_;
}

std::shared_ptr<const Value> Api::values(const Config& checkpoint) {
    if (auto kept = keptValues(checkpoint)) return kept;
    auto snapshot = readCheckpoint(*saver_, checkpoint);
    return snapshot ? keepValues(*snapshot) : nullptr;
}

std::shared_ptr<const Value> Api::keptValues(const Config& checkpoint) {
    return checkpoint.checkpoint_id ? cache_.find(checkpoint) : nullptr;
}

std::shared_ptr<const Value> Api::keepValues(SnapshotData& snapshot) {
    auto values = std::make_shared<const Value>(redaction_.apply(std::move(snapshot.values_as_cbor), ""));
    cache_.add(snapshot.config, values);
    return values;
}

std::shared_ptr<void> Api::addFollower() {
    struct Counted {
        explicit Counted(std::shared_ptr<std::atomic<std::size_t>> of) : count(std::move(of)) { ++*count; }
        Counted(const Counted&) = delete;
        Counted& operator=(const Counted&) = delete;
        ~Counted() { --*count; }
        std::shared_ptr<std::atomic<std::size_t>> count;
    };
    auto counted = std::make_shared<Counted>(followers_);
    return *followers_ > followers_max ? nullptr : counted;
}

bool Api::hasKey(const serve::RequestView& request) const noexcept {
    return isKey(request.header("X-Stategraph-Key"), options_.key);
}

serve::HandlerAnswer Api::answer(const serve::HandlerRequest& request) {
    try {
        admit(*this, request);
        ApiCall call{*this, request};
        const ApiRow& row = rowOf(call);
        if (row.needs != Needs::nothing && !options_.write)
            throw Refused{403, "this inspector is read-only: its program has to allow writing (ServerOptions::write)"};
        if (row.needs == Needs::graph && graphs().empty()) {
            throw Refused{403,
                          "this inspector has no graph, and can neither edit nor run: a program can (Server::add)"};
        }
        const bool follows = request.request.header("Accept").find("text/event-stream") != std::string_view::npos;
        return follows && row.follow.count() > 0 ? followed(call, row) : row.run(call);
    } catch (const Refused& refused) {
        return refusal(refused);
    } catch (const NotFound& nothing) {
        return refusal({404, nothing.text});
    }
}

}  // namespace stategraph::inspect
