#include "src/task/cached_task.hpp"

#include <utility>

#include <stategraph/error.hpp>

#include "src/commit/task_record.hpp"
#include "src/task/cache_entry.hpp"
#include "src/task/task_input.hpp"
#include "src/task/task_questions.hpp"

namespace stategraph::engine {
namespace {

// Encodes the channels that the node sees, by name.
void encodeSeen(TaskEnv& env, const Node& node, Encoder& out) {
    const State& state = env.state.values;
    const detail::Schema& schema = state.schema();
    const bool shares = node.subgraph && node.subgraph->spec.to_inner == nullptr;
    const auto& some = shares ? node.subgraph->in : node.projection;
    detail::ChannelSet seen(schema.size());
    for (std::size_t i = 0; i < schema.size(); ++i) seen.set(i, !shares && !node.projects && state.has(i));
    for (const SharedChannel& shared : some) seen.set(shared.outer, state.has(shared.outer));
    std::size_t count = 0;
    for (std::size_t i = 0; i < schema.size(); ++i) count += seen.test(i);
    out.map(count);
    for (const detail::ChannelIndex index : schema.encodedOrder()) {
        if (!seen.test(index)) continue;
        const auto& channel = schema.channel(index);
        out.text(channel.name);
        channel.behaviour->encode(channel, state.value(channel), out);
    }
}

std::string encodeInput(TaskEnv& env, Task& task, detail::TaskContext& context) {
    const Node& node = env.nodeOf(task);
    const CacheKey& key = node.cache->key;
    std::string bytes;
    Encoder out(bytes);
    if (!key.empty() && !(node.subgraph && task.planned.is_send)) {
        bytes += 'k';
        const TaskInput input(env, task, false);
        Runtime runtime(context);
        try {
            key.encode(input.get(), runtime, out);
        } catch (...) {
            throw env.nodeError(task, "the cache key of node '" + node.name + "' failed: ");
        }
    } else if (task.planned.is_send) {
        bytes += 's';
        encodeSend(*env.sendOf(task), out);
    } else {
        bytes += 'i';
        encodeSeen(env, node, out);
    }
    return bytes;
}

}  // namespace

void CachedTask::open(TaskEnv& env, Task& task, detail::TaskContext& context) {
    BaseCache* cache = nullptr;
    for (const TaskEnv* at = &env; at != nullptr && cache == nullptr;
         at = at->link != nullptr ? at->link->env : nullptr) {
        cache = at->core().options().cache.get();
    }
    if (cache == nullptr) return;
    // A result that depends on an answer is not a function of the input.
    if (TaskQuestions(env, task).hasAnswers()) return;
    std::string input = encodeInput(env, task, context);
    CacheName name = cacheNameOf(input);
    entry_.emplace(Entry{.env = env,
                         .task = task,
                         .policy = *env.nodeOf(task).cache,
                         .cache = *cache,
                         .input = std::move(input),
                         .hash = name.hash,
                         .key = std::move(name.key)});
}

bool CachedTask::restoreEntry() {
    std::optional<std::string> stored;
    try {
        stored = entry_->cache.get(entry_->policy.ns, entry_->key);
    } catch (...) {
        return false;
    }
    return stored && take(*stored);
}

// Returns false if the entry is of no use.
bool CachedTask::take(std::string_view stored) {
    Task& task = entry_->task;
    try {
        if (!read(stored)) return false;
    } catch (...) {
        task.result.writes.clear();
        task.routes.clear();
        try {
            entry_->cache.remove(entry_->policy.ns, entry_->key);
        } catch (...) {
            // The entry is overwritten later, or found damaged again.
        }
        return false;
    }
    task.useExtra().is_cached = true;
    entry_.reset();
    return true;
}

// Returns false if the entry belongs to another input whose hash happens to be the same.
bool CachedTask::read(std::string_view stored) {
    const auto record = resultOf(stored, entry_->input);
    if (!record) return false;
    TaskEnv& env = entry_->env;
    Task& task = entry_->task;
    const auto fields = checkpoint::readTask({"", entry_->policy.ns, entry_->hash, entry_->key}, *record);
    if (!fields.writes) throw WrongTypeError("expected a result");
    restoreResult(env.topology(), env.core().schema(), fields, task.result.writes, task.routes);
    for (const PendingSend& send : task.routes.sends)
        (void)restorePayload(env.topology().nodes[send.node], send.stored);
    return true;
}

void CachedTask::noteEntryWrites() {
    const detail::Schema& schema = entry_->env.core().schema();
    detail::Writes& writes = entry_->task.result.writes;
    try {
        schema.check(writes);
    } catch (const Error&) {
        drop();  // the task that takes the result reports it
        return;
    }
    for (const detail::Op& op : writes) {
        if (isStored(schema.channel(op.channel).kind)) continue;
        drop();  // a value that is never stored would be missing
        return;
    }
    try {
        entry_->writes = encodeWriteList(schema, writes);
    } catch (const InvalidUpdateError&) {
        drop();  // it cannot be stored; without a saver it need not be
    }
}

void CachedTask::noteEntryRoutes() {
    checkpoint::TaskFields fields;
    fields.node = entry_->env.nodeOf(entry_->task).stored_name;
    fields.writes = entry_->writes;
    try {
        const std::vector<std::string> payloads = addRoutes(entry_->env.topology(), entry_->task.routes, fields);
        std::string record;
        checkpoint::writeTask(entry_->hash, fields, record);
        entry_->value = makeEntry(entry_->input, record);
    } catch (const InvalidUpdateError&) {
        drop();
    }
}

void CachedTask::storeEntry() noexcept {
    try {
        if (TaskQuestions(entry_->env, entry_->task).hasAnswers()) return;
        entry_->cache.set(entry_->policy.ns, entry_->key, entry_->value, entry_->policy.ttl);
    } catch (...) {
        // This task has its result, and the next one with this key runs.
    }
}

}  // namespace stategraph::engine
