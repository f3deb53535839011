#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "langgraph/call.hpp"
#include "langgraph/state_json.hpp"
#include "langgraph/thread_view.hpp"

// Finds threads by what their records and their logs say.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// What a client looks for.
class ThreadFilter {
public:
    ThreadFilter(const Call& call, const Body& body)
        : service_(call.service()),
          owner_(call.owner()),
          metadata_(body.object("metadata")),
          values_(body.object("values")),
          ids_(body.texts("ids")),
          status_(body.text("status")) {
        if (status_) checkWord("status", *status_, {"idle", "busy", "interrupted", "error"});
    }

    bool fits(const ThreadRecord& thread) const {
        if (thread.is_temporary || (!owner_.empty() && thread.owner != owner_)) return false;
        if (!ids_.empty() && std::ranges::find(ids_, thread.thread_id) == ids_.end()) return false;
        if (!contains(thread.metadata, metadata_)) return false;
        // The log is read last.
        if (status_ && threadStatus(service_, thread) != *status_) return false;
        return values_.empty() || contains(threadValues(service_, thread), values_);
    }

    std::vector<ThreadRecord> all() const {
        std::vector<ThreadRecord> found;
        service_.records.forEachThread([&](ThreadRecord&& thread) {
            if (fits(thread)) found.push_back(std::move(thread));
        });
        return found;
    }

private:
    const Service& service_;
    const std::string owner_;
    const json::object metadata_;
    const json::object values_;
    const std::vector<std::string> ids_;
    const std::optional<std::string> status_;
};

void sort(std::vector<ThreadRecord>& threads, const std::string& by, bool ascends, const Service& service) {
    std::vector<std::pair<std::string, ThreadRecord>> keyed;
    for (ThreadRecord& each : threads) {
        std::string key = by == "thread_id"    ? each.thread_id
                          : by == "created_at" ? each.created_at
                          : by == "status"     ? threadStatus(service, each)
                                               : each.updated_at;
        keyed.emplace_back(std::move(key), std::move(each));
    }
    std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
        const auto order = std::pair(a.first, a.second.thread_id) <=> std::pair(b.first, b.second.thread_id);
        return ascends ? order < 0 : order > 0;
    });
    threads.clear();
    for (auto& each : keyed) threads.push_back(std::move(each.second));
}

}  // namespace

serve::HandlerAnswer searchThreads(const Call& call) {
    const Body body = call.bodyIfGiven();
    const std::size_t limit = body.number("limit", 1, 1000).value_or(10);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    const std::string by =
        body.choice("sort_by", {"created_at", "updated_at", "thread_id", "status", "state_updated_at"});
    const bool ascends = body.choice("sort_order", {"desc", "asc"}) == "asc";
    const std::vector<std::string> select = body.texts("select");
    std::vector<ThreadRecord> found = ThreadFilter(call, body).all();
    sort(found, by, ascends, call.service());
    json::array page;
    std::size_t bytes = 0;
    for (std::size_t i = offset; i < found.size() && page.size() < limit && bytes <= values_bytes_max; ++i)
        page.push_back(threadJson(call.service(), found[i], select, &bytes));
    return pageOf(std::move(page), offset, found.size());
}

serve::HandlerAnswer countThreads(const Call& call) {
    const Body body = call.bodyIfGiven();
    return answerOf(json::value(ThreadFilter(call, body).all().size()));
}

}  // namespace stategraph::langgraph
