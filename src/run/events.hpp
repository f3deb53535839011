#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/observer.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/stream.hpp>

#include "src/run/task.hpp"

namespace stategraph::stream {
class Topic;
}

namespace stategraph::engine {

class Run;
class RunStop;

/// What a run tells those who listen: builds events, in LangGraph's shapes, only where somebody asked for their mode.
/// The functions may be called from several threads; events are handed on one at a time.
class Events {
public:
    Events() = default;
    Events(detail::EventSink& sink, const StreamOptions& options) : sink_(&sink), options_(options) {}
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;
    ~Events();
    /// For runs that nobody is told of, all at once: without a sink or a topic nothing in it is touched.
    static Events& nobody() noexcept;
    /// Before the run begins: tell a hub's subscribers too. `stored`: they read in the log what that says of the root graph. `stop`: what may
    /// end the run, if anything can.
    void attach(std::shared_ptr<stream::Topic> topic, bool stored, std::shared_ptr<const RunStop> stop);

    bool any() const noexcept { return sink_ != nullptr || topic_ != nullptr; }
    bool wants(StreamMode mode, const Run& run) const noexcept;

    void values(Run& run);
    /// The update of a finished task, before its writes are applied.
    std::optional<StreamEvent> update(Run& run, Task& task, bool restored) const;
    void taskStarts(Run& run, Task& task);
    /// The end of a task, made before its writes are applied and given out after; `how` it ends.
    std::optional<StreamEvent> taskEnds(Run& run, Task& task, TaskStatus how) const;
    void emitTaskEnd(Run& run, std::optional<StreamEvent>&& event);
    void interrupted(Run& run, const Task& task, const std::vector<Interrupt>& interrupts);
    void breakpoint(Run& run);
    /// Of the root graph: that the run has begun, and how it has ended, once each. `error`: what it failed with.
    void runBegins(Run& run);
    void runEnds(Run& run, Ending ending, const std::vector<Interrupt>& interrupts, std::string_view error) noexcept;
    void checkpoint(Run& run, Source source, std::int64_t step, std::span<Task* const> tasks);
    void custom(Run& run, const Task& task, const Value& data);
    /// What has become of one call of a Flow.
    struct Call {
        std::string_view name;
        std::string_view key;
        std::string_view event;
        int attempt = 0;
        std::optional<std::string> error = {};
    };
    void call(Run& run, const Task& task, const Call& call);
    void messagePart(Run& run, Task& task, int attempt, const Value& part);
    /// The messages that a finished task wrote, before its writes are applied.
    std::vector<StreamEvent> messages(Run& run, Task& task, int attempt);

    /// Of the root graph: which checkpoint's superstep is under way; that a checkpoint was stored; that the log may say more.
    void at(CheckpointId id) noexcept;
    void committed(CheckpointId id);
    void changed();

    void emit(std::optional<StreamEvent>&& event) { emit(std::move(event), {}); }

private:
    StreamEvent make(const Run& run, StreamMode mode, const Task* task = nullptr) const;
    // As its own mode and as debug, whichever is wanted.
    void emitBoth(Run& run, StreamEvent event, std::string_view debug_type, std::optional<bool> with_inputs = {});
    // `with_inputs`: only to those who want tasks' inputs, or only to those who do not; none: to all.
    void emit(std::optional<StreamEvent>&& event, std::optional<bool> with_inputs);
    bool wantsInputs(bool with_inputs) const noexcept;
    void give(StreamEvent&& event);
    StreamEvent runEnd(Run& run, Ending ending, const std::vector<Interrupt>& interrupts, std::string_view error) const;

    bool sinkWants(StreamMode mode, bool inner) const noexcept;
    bool topicWants(StreamMode mode, bool inner) const noexcept;

    detail::EventSink* sink_ = nullptr;
    StreamOptions options_;
    std::shared_ptr<stream::Topic> topic_;
    std::shared_ptr<const RunStop> stop_;
    bool stored_ = false;
    bool is_run_open_ = false;  // its beginning has been reported, and its end not
    std::atomic<std::int64_t> at_ = 0;
    std::mutex mutex_;
    // The messages that tasks under way emitted parts of: at most so many, the last ones.
    struct Emitted {
        TaskId task;
        std::string message;
    };
    static constexpr std::size_t emitted_max = 1024;
    std::vector<Emitted> emitted_;
};

/// The data of an event of the mode `checkpoints`.
struct CheckpointEvent {
    LogName log;
    CheckpointId id;
    CheckpointId parent;  // none: the first
    Source source = Source::loop;
    std::int64_t step = 0;
    std::string_view metadata;  // the run's, a CBOR map, or empty
    std::vector<std::pair<TaskId, std::string>> tasks;  // that are due, with their nodes' names
};
/// `encodeValues`: appends the state.
Value checkpointData(const CheckpointEvent& event, const std::function<void(Encoder&)>& encodeValues);

/// {channel: written} of a task's writes; several writes to one channel as {"$writes": [...]}. Only to the channels of
/// `only`, if given.
void encodeResult(const detail::Schema& schema, detail::Writes& writes, Encoder& out, const detail::ChannelSet* only = nullptr);

}  // namespace stategraph::engine
