#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/observer.hpp>
#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/stream.hpp>

#include "src/step/task.hpp"

namespace stategraph::stream {
class Topic;
}

namespace stategraph::engine {

class RunStop;

/// The readers of a run and of its inner runs: what each wants, and how it is delivered. The Teller of each run creates
/// the events. The functions may be called from several threads; events are delivered one at a time.
class Events {
public:
    Events() = default;
    Events(detail::EventSink& sink, const StreamOptions& options) : sink_(&sink), options_(options) {}
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;
    ~Events();
    /// One shared object for all runs without readers: without a sink or a topic nothing in it is changed.
    static Events& nobody() noexcept;
    /// Before the run begins: tell a hub's subscribers too. `stored`: they read in the log what that says of the root
    /// graph. `stop`: what may end the run, if anything can.
    void attach(std::shared_ptr<stream::Topic> topic, bool stored, std::shared_ptr<const RunStop> stop);

    bool any() const noexcept { return sink_ != nullptr || topic_ != nullptr; }
    /// `inner`: of a run inside.
    bool wants(StreamMode mode, bool inner) const noexcept;
    bool wantsDebug(bool inner) const noexcept {
        return sinkWants(StreamMode::debug, inner) || topicWants(StreamMode::debug, inner);
    }
    /// Whether some want tasks' events with, or without, the tasks' inputs.
    bool wantsInputs(bool with_inputs) const noexcept;
    void emit(std::optional<StreamEvent>&& event) { emit(std::move(event), {}); }
    /// `with_inputs`: only to those who want tasks' inputs, or only to those who do not; none: to all.
    void emit(std::optional<StreamEvent>&& event, std::optional<bool> with_inputs);

    /// Keeps that a part of a message was emitted by a task, as long as there is room.
    void noteMessage(TaskId task, std::string_view message);
    /// The messages that a task emitted parts of. Once.
    std::vector<std::string> takeMessages(TaskId task);

    // Of the root graph.

    void runBegins();
    /// False: it has not begun, or its end is known. `stored`: the newest stored checkpoint, if there is one.
    bool closeRun(CheckpointId stored) noexcept;
    /// Called after that. None: no reader wants it, or there was no memory to create it.
    void giveRunEnd(std::optional<StreamEvent>&& event) noexcept;
    /// Which checkpoint's superstep is under way; that a checkpoint was stored; that the log may say more.
    void at(CheckpointId id) noexcept;
    void committed(CheckpointId id);
    void changed();

private:
    void give(StreamEvent&& event) SG_EXCLUDES(mutex_);
    bool sinkWants(StreamMode mode, bool inner) const noexcept;
    bool topicWants(StreamMode mode, bool inner) const noexcept;

    detail::EventSink* sink_ SG_PT_GUARDED_BY(mutex_) = nullptr;
    StreamOptions options_;
    std::shared_ptr<stream::Topic> topic_;
    std::shared_ptr<const RunStop> stop_;
    bool stored_ = false;
    bool is_run_open_ = false;  // its beginning has been reported, and its end not
    std::atomic<std::int64_t> at_ = 0;
    detail::Mutex mutex_;
    // The messages that tasks under way emitted parts of: at most so many, the last ones.
    struct Emitted {
        TaskId task;
        std::string message;
    };
    static constexpr std::size_t emitted_max = 1024;
    std::vector<Emitted> emitted_ SG_GUARDED_BY(mutex_);
};

/// The data of an event of the mode `checkpoints`.
struct CheckpointEvent {
    LogName log;
    CheckpointId id;
    CheckpointId parent;  // none: the first
    Source source = Source::loop;
    std::int64_t step = 0;
    std::string_view metadata;                          // the run's, a CBOR map, or empty
    std::vector<std::pair<TaskId, std::string>> tasks;  // that are due, with their nodes' names
};
/// `encodeValues`: appends the state.
Value checkpointData(const CheckpointEvent& event, const std::function<void(Encoder&)>& encodeValues);

/// {channel: written} of a task's writes; several writes to one channel as {"$writes": [...]}. Only to the channels of
/// `only`, if given.
void encodeResult(const detail::Schema& schema, detail::Writes& writes, Encoder& out,
                  const detail::ChannelSet* only = nullptr);

}  // namespace stategraph::engine
