#include "langgraph/records.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <stategraph/json.hpp>

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr std::size_t page_items = 1000;
constexpr std::size_t page_runs = 50;  // a run has its whole input
constexpr std::size_t batch_ops = 1000;
constexpr const char* open_label = "open-runs";

StoreNamespace threadsNs() { return {records_label, "threads"}; }
StoreNamespace assistantsNs() { return {records_label, "assistants"}; }
StoreNamespace runsNs(const std::string& thread_id) { return {records_label, "runs", thread_id}; }
StoreNamespace openNs() { return {records_label, open_label}; }

// Nothing expires, and nothing is found by its meaning, whatever the store's options are.
StoreOp putOp(StoreNamespace ns, std::string key, const json::object& value) {
    return PutOp{.ns = std::move(ns),
                 .key = std::move(key),
                 .value = Value(json::value(value)),
                 .options = {.ttl = std::chrono::milliseconds(0), .index = std::vector<std::string>()}};
}
StoreOp removeOp(StoreNamespace ns, std::string key) { return PutOp{.ns = std::move(ns), .key = std::move(key)}; }

/// Reads an item's members; those that are missing are empty.
class Members {
public:
    explicit Members(const StoreItem& item) : value_(toJsonValue(item.value)) {}
    std::string text(std::string_view name) const {
        const json::value* const found = find(name);
        return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
    }
    json::object object(std::string_view name) const {
        const json::value* const found = find(name);
        return found != nullptr && found->is_object() ? found->get_object() : json::object();
    }
    json::array array(std::string_view name) const {
        const json::value* const found = find(name);
        return found != nullptr && found->is_array() ? found->get_array() : json::array();
    }
    bool flag(std::string_view name) const {
        const json::value* const found = find(name);
        return found != nullptr && found->is_bool() && found->get_bool();
    }
    std::vector<std::string> texts(std::string_view name) const {
        std::vector<std::string> all;
        for (const json::value& each : array(name)) {
            if (each.is_string()) all.emplace_back(each.get_string());
        }
        return all;
    }
    std::int64_t number(std::string_view name) const {
        const json::value* const found = find(name);
        boost::system::error_code none;
        return found != nullptr && found->is_number() ? found->to_number<std::int64_t>(none) : 0;
    }
    json::value value(std::string_view name) const {
        const json::value* const found = find(name);
        return found != nullptr ? *found : json::value();
    }

private:
    const json::value* find(std::string_view name) const {
        const json::object* const object = value_.if_object();
        return object != nullptr ? object->if_contains(name) : nullptr;
    }
    json::value value_;
};

ThreadRecord threadOf(const StoreItem& item) {
    const Members in(item);
    return {.thread_id = item.key,
            .created_at = in.text("created_at"),
            .updated_at = in.text("updated_at"),
            .owner = in.text("owner"),
            .metadata = in.object("metadata"),
            .config = in.object("config"),
            .is_temporary = in.flag("temporary"),
            .ttl = std::chrono::milliseconds(in.number("ttl_ms")),
            .keeps_latest = in.flag("keeps_latest"),
            .expires_at = in.text("expires_at")};
}

RunRecord runOf(const StoreItem& item) {
    const Members in(item);
    return {.run_id = item.key,
            .thread_id = in.text("thread_id"),
            .assistant_id = in.text("assistant_id"),
            .graph_id = in.text("graph_id"),
            .owner = in.text("owner"),
            .created_at = in.text("created_at"),
            .updated_at = in.text("updated_at"),
            .status = in.text("status"),
            .multitask_strategy = in.text("multitask_strategy"),
            .metadata = in.object("metadata"),
            .kwargs = in.object("kwargs"),
            .is_temporary = in.flag("temporary"),
            .keeps_thread = in.flag("keeps_thread"),
            .is_cancelled = in.flag("cancelled"),
            .begins_at = in.text("begins_at"),
            .is_rolled_back = in.flag("rolled_back"),
            .questions = in.texts("questions"),
            .before = in.array("before"),
            .attempt = in.number("attempt")};
}

AssistantRecord assistantOf(const StoreItem& item) {
    const Members in(item);
    return {.assistant_id = item.key,
            .graph_id = in.text("graph_id"),
            .owner = in.text("owner"),
            .created_at = in.text("created_at"),
            .updated_at = in.text("updated_at"),
            .name = in.text("name"),
            .description = in.value("description"),
            .version = in.number("version"),
            .config = in.object("config"),
            .context = in.object("context"),
            .metadata = in.object("metadata"),
            .versions = in.array("versions")};
}

}  // namespace

std::string ThreadRecord::graphId() const {
    const json::value* const found = metadata.if_contains("graph_id");
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

ApiRecords::Batch& ApiRecords::Batch::put(const ThreadRecord& thread) {
    json::object kept{{"created_at", thread.created_at}, {"updated_at", thread.updated_at},
                      {"owner", thread.owner},           {"metadata", thread.metadata},
                      {"config", thread.config},         {"temporary", thread.is_temporary}};
    if (thread.ttl.count() > 0) {
        kept["ttl_ms"] = thread.ttl.count();
        kept["keeps_latest"] = thread.keeps_latest;
        kept["expires_at"] = thread.expires_at;
    }
    ops_.push_back(putOp(threadsNs(), thread.thread_id, kept));
    return *this;
}

ApiRecords::Batch& ApiRecords::Batch::put(const RunRecord& run) {
    ops_.push_back(putOp(runsNs(run.thread_id), run.run_id,
                         {{"thread_id", run.thread_id},
                          {"assistant_id", run.assistant_id},
                          {"graph_id", run.graph_id},
                          {"owner", run.owner},
                          {"created_at", run.created_at},
                          {"updated_at", run.updated_at},
                          {"status", run.status},
                          {"multitask_strategy", run.multitask_strategy},
                          {"metadata", run.metadata},
                          {"kwargs", run.kwargs},
                          {"temporary", run.is_temporary},
                          {"keeps_thread", run.keeps_thread},
                          {"cancelled", run.is_cancelled},
                          {"begins_at", run.begins_at},
                          {"rolled_back", run.is_rolled_back},
                          {"questions", json::array(run.questions.begin(), run.questions.end())},
                          {"before", run.before},
                          {"attempt", run.attempt}}));
    const bool is_open = !run.hasEnded() || run.losesThread();
    ops_.push_back(is_open ? putOp(openNs(), run.run_id, {{"thread_id", run.thread_id}})
                           : removeOp(openNs(), run.run_id));
    return *this;
}

ApiRecords::Batch& ApiRecords::Batch::put(const AssistantRecord& assistant) {
    ops_.push_back(putOp(assistantsNs(), assistant.assistant_id,
                         {{"graph_id", assistant.graph_id},
                          {"owner", assistant.owner},
                          {"created_at", assistant.created_at},
                          {"updated_at", assistant.updated_at},
                          {"name", assistant.name},
                          {"description", assistant.description},
                          {"version", assistant.version},
                          {"config", assistant.config},
                          {"context", assistant.context},
                          {"metadata", assistant.metadata},
                          {"versions", assistant.versions}}));
    return *this;
}

ApiRecords::Batch& ApiRecords::Batch::remove(const RunRecord& run) {
    ops_.push_back(removeOp(runsNs(run.thread_id), run.run_id));
    ops_.push_back(removeOp(openNs(), run.run_id));
    return *this;
}

ApiRecords::Batch& ApiRecords::Batch::add(StoreOp op) {
    ops_.push_back(std::move(op));
    return *this;
}

ApiRecords::Batch& ApiRecords::Batch::add(Batch more) {
    std::ranges::move(more.ops_, std::back_inserter(ops_));
    return *this;
}

void ApiRecords::store(const Batch& batch) const { (void)store_->batch(std::span(batch.ops_)); }

std::optional<ThreadRecord> ApiRecords::thread(const std::string& thread_id) const {
    const auto item = store_->get(threadsNs(), thread_id, false);
    return item ? std::optional(threadOf(*item)) : std::nullopt;
}

bool ApiRecords::addThread(const ThreadRecord& added, Batch more) const {
    const stategraph::detail::LockGuard lock(edit_mutex_);
    if (thread(added.thread_id)) return false;
    store(more.put(added));
    return true;
}

std::optional<ThreadRecord> ApiRecords::editThread(const std::string& thread_id,
                                                   const std::function<void(ThreadRecord&)>& change, Batch more) const {
    const stategraph::detail::LockGuard lock(edit_mutex_);
    std::optional<ThreadRecord> record = thread(thread_id);
    if (!record) return {};
    change(*record);
    store(more.put(*record));
    return record;
}

void ApiRecords::editOpenRun(const std::string& thread_id, const std::string& run_id,
                             const std::function<void(RunRecord&)>& change) const {
    const stategraph::detail::LockGuard lock(edit_mutex_);
    std::optional<RunRecord> record = run(thread_id, run_id);
    if (!record || record->hasEnded()) return;
    change(*record);
    store(Batch().put(*record));
}

std::optional<RunRecord> ApiRecords::run(const std::string& thread_id, const std::string& run_id) const {
    const auto item = store_->get(runsNs(thread_id), run_id, false);
    return item ? std::optional(runOf(*item)) : std::nullopt;
}

std::optional<AssistantRecord> ApiRecords::assistant(const std::string& assistant_id) const {
    const auto item = store_->get(assistantsNs(), assistant_id, false);
    return item ? std::optional(assistantOf(*item)) : std::nullopt;
}

void ApiRecords::forEach(const StoreNamespace& ns, std::size_t page_max,
                         const std::function<bool(const StoreItem&)>& take, const StoreFilter& filter) const {
    for (std::size_t offset = 0;; offset += page_max) {
        const auto page = store_->search(
            {.namespace_prefix = ns, .filter = filter, .limit = page_max, .offset = offset, .refresh_ttl = false});
        for (const SearchItem& item : page) {
            if (!take(item)) return;
        }
        if (page.size() < page_max) return;
    }
}

void ApiRecords::forEachThread(const std::function<bool(ThreadRecord&&)>& take) const {
    forEach(threadsNs(), page_items, [&](const StoreItem& item) { return take(threadOf(item)); });
}

void ApiRecords::forEachAssistant(const std::function<void(AssistantRecord&&)>& take) const {
    forEach(assistantsNs(), page_items, [&](const StoreItem& item) {
        take(assistantOf(item));
        return true;
    });
}

void ApiRecords::forEachRun(const std::string& thread_id, const std::function<bool(RunRecord&&)>& take) const {
    forEach(runsNs(thread_id), page_runs, [&](const StoreItem& item) { return take(runOf(item)); });
}

std::vector<RunRecord> ApiRecords::openRuns(const StoreFilter& filter) const {
    std::vector<RunRecord> all;
    const auto take = [&](const StoreItem& item) {
        if (auto found = run(Members(item).text("thread_id"), item.key)) all.push_back(*std::move(found));
        return true;
    };
    forEach(openNs(), page_items, take, filter);
    return all;
}
std::vector<RunRecord> ApiRecords::openRuns(const std::string& thread_id) const {
    return openRuns(where("thread_id").eq(thread_id));
}

void ApiRecords::removeThread(const std::string& thread_id) const {
    Batch all;
    forEachRun(thread_id, [&](RunRecord&& each) {
        all.remove(each);
        return true;
    });
    Batch batch;
    for (StoreOp& each : all.ops_) {
        batch.ops_.push_back(std::move(each));
        if (batch.ops_.size() >= batch_ops) store(std::exchange(batch, {}));
    }
    batch.ops_.push_back(removeOp(threadsNs(), thread_id));
    store(batch);
}

void ApiRecords::removeAssistant(const std::string& assistant_id) const {
    store_->remove(assistantsNs(), assistant_id);
}

void ApiRecords::removeAll(const StoreNamespace& ns) const {
    for (;;) {
        const auto page = store_->search({.namespace_prefix = ns, .limit = page_items, .refresh_ttl = false});
        if (page.empty()) return;
        for (const SearchItem& item : page) store_->remove(item.ns, item.key);
    }
}

}  // namespace stategraph::langgraph
