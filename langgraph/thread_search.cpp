#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
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
            return true;
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

/// One step of a path: the name of a member, or the index of an element, counted from the end if it is below 0.
using PathStep = std::variant<std::string, std::int64_t>;

/// Reads a path such as "values.messages[-1].content"; empty if it is none.
std::vector<PathStep> stepsOf(std::string_view path) {
    std::vector<PathStep> steps;
    while (!path.empty()) {
        if (path.front() == '[') {
            std::int64_t index = 0;
            const auto [end, error] = std::from_chars(path.data() + 1, path.data() + path.size(), index);
            if (error != std::errc() || end == path.data() + path.size() || *end != ']') return {};
            path.remove_prefix(static_cast<std::size_t>(end - path.data()) + 1);
            steps.emplace_back(index);
            continue;
        }
        if (!steps.empty()) {
            if (path.front() != '.') return {};
            path.remove_prefix(1);
        }
        const std::string_view name = path.substr(0, path.find_first_of(".["));
        if (name.empty()) return {};
        path.remove_prefix(name.size());
        steps.emplace_back(std::string(name));
    }
    return steps;
}

/// What a path leads to; null: nothing.
json::value valueAt(const json::value& from, const std::vector<PathStep>& steps) {
    const json::value* at = &from;
    for (const PathStep& step : steps) {
        if (const auto* const name = std::get_if<std::string>(&step)) {
            const json::object* const object = at->if_object();
            at = object != nullptr ? object->if_contains(*name) : nullptr;
        } else {
            const json::array* const array = at->if_array();
            if (array == nullptr) return nullptr;
            const auto count = static_cast<std::int64_t>(array->size());
            const std::int64_t given = std::get<std::int64_t>(step);
            const std::int64_t index = given < 0 ? given + count : given;
            at = index >= 0 && index < count ? &(*array)[static_cast<std::size_t>(index)] : nullptr;
        }
        if (at == nullptr) return nullptr;
    }
    return *at;
}

/// What a client wants of each thread: some of its members, and parts of them under other names.
class ThreadExtract {
public:
    explicit ThreadExtract(const Body& body) : select_(body.texts("select")) {
        for (const auto& [name, path] : body.object("extract")) {
            std::vector<PathStep> steps =
                path.is_string() ? stepsOf(std::string_view(path.get_string())) : std::vector<PathStep>();
            if (steps.empty()) body.refuse("extract", "must have paths such as \"values.messages[-1].content\"");
            paths_.emplace_back(name, std::move(steps));
        }
        if (paths_.size() > paths_max) body.refuse("extract", "has more than " + std::to_string(paths_max) + " paths");
    }

    json::object of(const Service& service, const ThreadRecord& thread, std::size_t* bytes) const {
        if (paths_.empty()) return threadJson(service, thread, select_, bytes);
        json::value whole = threadJson(service, thread, {}, bytes);
        json::object extracted;
        for (const auto& [name, steps] : paths_) extracted[name] = valueAt(whole, steps);
        json::object shown = selected(std::move(whole.get_object()), select_);
        shown["extracted"] = std::move(extracted);
        return shown;
    }

private:
    static constexpr std::size_t paths_max = 10;

    const std::vector<std::string> select_;
    std::vector<std::pair<std::string, std::vector<PathStep>>> paths_;
};

}  // namespace

serve::HandlerAnswer searchThreads(const Call& call) {
    const Body body = call.bodyIfGiven();
    const std::size_t limit = body.number("limit", 1, 1000).value_or(10);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    const std::string by =
        body.choice("sort_by", {"created_at", "updated_at", "thread_id", "status", "state_updated_at"});
    const bool ascends = body.choice("sort_order", {"desc", "asc"}) == "asc";
    const ThreadExtract extract(body);
    std::vector<ThreadRecord> found = ThreadFilter(call, body).all();
    sort(found, by, ascends, call.service());
    json::array page;
    std::size_t bytes = 0;
    for (std::size_t i = offset; i < found.size() && page.size() < limit && bytes <= values_bytes_max; ++i)
        page.push_back(extract.of(call.service(), found[i], &bytes));
    return pageOf(std::move(page), offset, found.size());
}

serve::HandlerAnswer countThreads(const Call& call) {
    const Body body = call.bodyIfGiven();
    return answerOf(json::value(ThreadFilter(call, body).all().size()));
}

}  // namespace stategraph::langgraph
