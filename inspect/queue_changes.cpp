#include "inspect/queue_changes.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include <stategraph/error.hpp>
#if STATEGRAPH_HAS_QUEUE
#include <stategraph/queue_query.hpp>
#endif

#include "inspect/thread_list.hpp"

namespace stategraph::inspect {

void failWithoutQueue() {
    throw SaverError("this program was built without PostgreSQL, which has the queue; build stategraph with it");
}

#if STATEGRAPH_HAS_QUEUE
namespace {

// How many threads a preview names.
constexpr std::size_t shown = 20;

[[noreturn]] void failUnknownChange(const std::string& name) {
    throw UsageError{"there is no '" + name + "'; there are retry, cancel, release, set-aside and limit"};
}

QueueChange changeOf(std::string name) {
    std::ranges::replace(name, '-', '_');
    for (std::size_t i = 0; i < queue_changes; ++i) {
        if (name == toString(static_cast<QueueChange>(i))) return static_cast<QueueChange>(i);
    }
    failUnknownChange(name);
}

QueueQuery queryOf(const QueueChangeRequest& request) {
    const auto now = std::chrono::system_clock::now();
    QueueQuery query{.queue = request.queue, .graph = request.graph, .worker = request.worker};
    query.standing = queueStandingOf(request.standing);
    query.error = request.error;
    query.metadata = request.metadata;
    query.thread_id_begin = request.begin;
    if (request.since_s) query.since_from = now - std::chrono::seconds(*request.since_s);
    if (request.unchanged_s) query.since_to = now - std::chrono::seconds(*request.unchanged_s);
    return query;
}

std::optional<std::int64_t> secondsOf(const Call& call, std::string_view option) {
    const auto age = call.arguments.age(option);
    return age ? std::optional<std::int64_t>(age->count()) : std::nullopt;
}

QueueChangeRequest changeRequestOf(const Call& call) {
    const auto text = [&](std::string_view option) { return call.arguments.value(option).value_or(""); };
    QueueChangeRequest request{.change = call.place(0),
                               .queue = text("--queue"),
                               .graph = text("--graph"),
                               .worker = text("--worker"),
                               .standing = call.arguments.value("--standing"),
                               .error = text("--error"),
                               .metadata = {},
                               .begin = text("--begin"),
                               .since_s = secondsOf(call, "--since"),
                               .unchanged_s = secondsOf(call, "--unchanged"),
                               .all = call.arguments.has("--all"),
                               .reason = text("--reason"),
                               .dry_run = call.arguments.has("--dry-run")};
    std::map<std::string, Value> metadata;
    for (const std::string& each : call.arguments.values("--metadata")) {
        MetadataEntry entry = metadataEntryOf(each);
        metadata[entry.key] = std::move(entry.value);
    }
    if (!metadata.empty()) request.metadata = Value(metadata);
    return request;
}

Exit changeMany(Call& call) {
    const QueueChangedView changed = changeThreads(call.shared_saver, changeRequestOf(call));
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(changed) << '\n';
        return Exit::done;
    }
    out << call.place(0) << (changed.dry_run ? " would change " : " changed ") << changed.threads << " threads\n";
    for (const std::string& each : changed.first) out << plain(each) << '\n';
    if (changed.first.size() < changed.threads) out << "…\n";
    return Exit::done;
}

bool changeOne(const Call& call, PostgresQueue& queue, QueueChange change) {
    const std::string& thread_id = call.place(1);
    switch (change) {
        case QueueChange::retry:
            return queue.retry(thread_id);
        case QueueChange::cancel:
            return queue.cancel(thread_id);
        case QueueChange::release:
            return queue.takeBack(thread_id);
        case QueueChange::set_aside:
            break;
    }
    return queue.putAside(thread_id, call.arguments.value("--reason").value_or("a person set it aside"));
}

std::string refusalOf(QueueChange change, const std::optional<QueuedThread>& thread) {
    if (!thread) return "it is not in the queue";
    if (change == QueueChange::retry) return "it is not set aside but " + std::string(toString(thread->standing));
    if (change == QueueChange::release) return "no worker has it; it is " + std::string(toString(thread->standing));
    return "it is set aside already";
}

std::optional<double> rateOf(const Call& call) {
    const auto text = call.arguments.value("--rate");
    if (!text) return {};
    double rate = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), rate);
    if (error != std::errc() || end != text->data() + text->size())
        throw UsageError{"--rate takes a number of threads a second, not '" + *text + "'"};
    return rate;
}

Exit limitQueue(Call& call) {
    QueueLimit limit{.queue = call.place(1)};
    if (call.arguments.value("--runs")) limit.runs = call.arguments.number("--runs", 0, 0);
    limit.rate = rateOf(call);
    PostgresQueue(queueSaverOf(call.shared_saver)).setLimit(limit);
    if (call.asJson()) return Exit::done;
    call.terminal.out() << "queue " << plain(limit.queue) << ": "
                        << (limit.runs || limit.rate ? "the limit is stored\n" : "there is no limit\n");
    return Exit::done;
}

}  // namespace

std::shared_ptr<PostgresSaver> queueSaverOf(const std::shared_ptr<BaseCheckpointSaver>& saver) {
    auto postgres = std::dynamic_pointer_cast<PostgresSaver>(saver);
    if (!postgres)
        throw InvalidArgumentError("this store has no queue; name a PostgreSQL database, such as postgresql://HOST/DB");
    return postgres;
}

std::optional<QueueStanding> queueStandingOf(const std::optional<std::string>& text) {
    if (!text) return {};
    std::string all;
    for (int i = 0; i <= static_cast<int>(QueueStanding::unserved); ++i) {
        const auto standing = static_cast<QueueStanding>(i);
        if (*text == toString(standing)) return standing;
        all += (all.empty() ? "" : ", ") + std::string(toString(standing));
    }
    throw UsageError{"there is no standing '" + *text + "'; there are " + all};
}

QueueChangedView changeThreads(const std::shared_ptr<BaseCheckpointSaver>& saver, const QueueChangeRequest& request) {
    PostgresQueue queue(queueSaverOf(saver));
    const QueueChange change = changeOf(request.change);
    const QueueQuery query = queryOf(request);
    if (query.isEmpty() && !request.all)
        throw UsageError{"'" + request.change +
                         "' of many threads needs a selection: a queue, graph, worker, standing, error, metadata, "
                         "beginning of names or time; or say that all are meant"};
    QueuePreview preview = queue.preview(change, query, shown);
    if (request.dry_run) return {preview.count, std::move(preview.first), true};
    const std::string reason = request.reason.empty() ? "a person set it aside" : request.reason;
    return {queue.change(change, query, reason), std::move(preview.first), false};
}

Exit changeQueue(Call& call) {
    const auto& places = call.arguments.places();
    if (places[0] == "limit") {
        if (places.size() == 2) return limitQueue(call);
        throw UsageError{"'queue limit' needs the name of a queue after it"};
    }
    const QueueChange change = changeOf(places[0]);
    if (places.size() == 1) return changeMany(call);
    PostgresQueue queue(queueSaverOf(call.shared_saver));
    if (!changeOne(call, queue, change))
        throw NotFound{"thread '" + places[1] + "': " + refusalOf(change, queue.find(places[1]))};
    if (!call.asJson()) call.terminal.out() << "thread '" << plain(places[1]) << "': " << places[0] << " is done\n";
    return Exit::done;
}
#else
QueueChangedView changeThreads(const std::shared_ptr<BaseCheckpointSaver>&, const QueueChangeRequest&) {
    failWithoutQueue();
}
#endif

}  // namespace stategraph::inspect
