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
#include "src/stream/readers.hpp"
#include "src/threads/put_queue.hpp"

namespace stategraph::stream {
class Topic;
}

namespace stategraph::engine {

class RunStop;

/// The readers of a run and of its inner runs: which events each wants, and how they are delivered. The Teller of each
/// run creates the events. The functions may be called from several threads; events are delivered one at a time.
class Events final : private PutQueue::Watcher {
public:
    Events() = default;
    Events(detail::EventSink& sink, const StreamOptions& options) : sink_(&sink), options_(options) {}
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;
    ~Events();
    /// Returns one shared object for all runs without readers. Without a sink or a topic, nothing in it is changed.
    static Events& nobody() noexcept;
    /// Adds the subscribers of a hub; call it before the run begins. `stored` says that they read in the log what it
    /// says about the root graph. `stop` is what may end the run; null if nothing can.
    void attach(std::shared_ptr<stream::Topic> topic, bool stored, std::shared_ptr<const RunStop> stop);

    /// Wakes those subscribers when the log contains more; null if there are none.
    PutQueue::Watcher* watcher() noexcept { return topic_ != nullptr ? this : nullptr; }

    bool any() const noexcept { return sink_ != nullptr || topic_ != nullptr; }
    /// `inner` says that the event is of a run inside.
    bool wants(StreamMode mode, bool inner) const noexcept;
    bool wantsDebug(bool inner) const noexcept {
        return sinkWants(StreamMode::debug, inner) || topicWants(StreamMode::debug, inner);
    }
    /// Returns whether some readers want tasks' events with (or without) the tasks' inputs.
    bool wantsInputs(bool with_inputs) const noexcept;
    void emit(std::optional<StreamEvent>&& event, const stream::Readers& readers = {});

    /// Notes that an attempt of a task emitted a part of a message, as long as there is room.
    void noteMessage(TaskId task, int attempt, std::string_view message);
    /// Returns the messages of which an attempt of a task emitted parts, and forgets those of all its attempts: readers
    /// discard the parts of attempts that failed.
    std::vector<std::string> takeMessages(TaskId task, int attempt);
    /// Notes messages that a graph inside a task returned, as long as there is room. That graph's tasks have reported
    /// them to the readers that want events of subgraphs.
    void noteInside(TaskId task, std::vector<std::string>&& messages);
    /// Returns the messages that were noted for a task, and forgets them.
    std::vector<std::string> takeInside(TaskId task);

    // The following are for the root graph.

    void runBegins();
    /// Returns false if the run has not begun, or if its end is known. `stored` is the newest stored checkpoint, if
    /// there is one.
    bool closeRun(CheckpointId stored) noexcept;
    /// Call it after `closeRun` with the event. It is none if no reader wants it, or if there was no memory to create
    /// it.
    void giveRunEnd(std::optional<StreamEvent>&& event) noexcept;
    /// These note at which checkpoint the current superstep is, that a checkpoint was stored, and that the log may
    /// contain more.
    void at(CheckpointId id) noexcept;
    void committed(CheckpointId id);
    void changed();

private:
    void stored() noexcept override { changed(); }
    void give(StreamEvent&& event) SG_EXCLUDES(mutex_);
    bool sinkWants(StreamMode mode, bool inner) const noexcept;
    bool topicWants(StreamMode mode, bool inner) const noexcept;

    detail::EventSink* sink_ SG_PT_GUARDED_BY(mutex_) = nullptr;
    StreamOptions options_;
    std::shared_ptr<stream::Topic> topic_;
    std::shared_ptr<const RunStop> stop_;
    bool stored_ = false;
    bool is_run_open_ = false;  // whether its beginning has been reported and its end has not
    std::atomic<std::int64_t> at_ = 0;
    detail::Mutex mutex_;
    // The last messages of which tasks under way emitted parts; their number is limited.
    struct Emitted {
        TaskId task;
        int attempt;
        std::string message;
    };
    static constexpr std::size_t emitted_max = 1024;
    std::vector<Emitted> emitted_ SG_GUARDED_BY(mutex_);
    // The messages that graphs inside tasks under way returned; the number of graphs is limited.
    struct ReportedInside {
        TaskId task;
        std::vector<std::string> messages;
    };
    static constexpr std::size_t inside_max = 1024;
    std::vector<ReportedInside> inside_ SG_GUARDED_BY(mutex_);
};

/// The data of an event of the mode `checkpoints`.
struct CheckpointEvent {
    LogName log;
    CheckpointId id;
    CheckpointId parent;  // none for the first checkpoint
    Source source = Source::loop;
    std::int64_t step = 0;
    std::string_view metadata;                          // the run's metadata, a CBOR map, or empty
    std::vector<std::pair<TaskId, std::string>> tasks;  // the tasks that are due, with the names of their nodes
};
/// `encodeValues` appends the state.
Value checkpointData(const CheckpointEvent& event, const std::function<void(Encoder&)>& encodeValues);

/// Encodes a task's writes as {channel: written}; several writes to one channel become {"$writes": [...]}. If `only` is
/// given, only its channels are included.
void encodeResult(const detail::Schema& schema, detail::Writes& writes, Encoder& out,
                  const detail::ChannelSet* only = nullptr);

}  // namespace stategraph::engine
