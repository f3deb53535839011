#pragma once
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stategraph/record.hpp>
#include <stategraph/stream.hpp>

#include "src/run/task.hpp"

namespace stategraph::engine {

class Run;

/// What a run tells those who listen: builds events, in LangGraph's shapes, only where somebody asked for their mode.
/// The functions may be called from several threads; events are handed on one at a time.
class Events {
public:
    Events() = default;
    Events(detail::EventSink& sink, const StreamOptions& options) : sink_(&sink), options_(options) {}

    bool any() const noexcept { return sink_ != nullptr; }
    bool wants(StreamMode mode, const Run& run) const noexcept;

    void values(Run& run);
    /// The update of a finished task, before its writes are applied.
    std::optional<StreamEvent> update(Run& run, Task& task, bool restored) const;
    void taskStarts(Run& run, Task& task);
    /// The end of a task, made before its writes are applied and given out after.
    std::optional<StreamEvent> taskEnds(Run& run, Task& task) const;
    void emitTaskEnd(Run& run, std::optional<StreamEvent>&& event);
    void interrupted(Run& run, const Task& task, const std::vector<Interrupt>& interrupts);
    void breakpoint(Run& run);
    void checkpoint(Run& run, Source source, std::int64_t step, std::span<Task* const> tasks);
    void custom(Run& run, const Task& task, const Value& data);

    void emit(std::optional<StreamEvent>&& event);

private:
    StreamEvent make(const Run& run, StreamMode mode, const Task* task = nullptr) const;
    // As its own mode and as debug, whichever is wanted.
    void emitBoth(Run& run, StreamEvent event, std::string_view debug_type);

    detail::EventSink* sink_ = nullptr;
    StreamOptions options_;
    std::mutex mutex_;
};

/// {channel: written} of a task's writes; several writes to one channel as {"$writes": [...]}. Only to the channels of
/// `only`, if given.
void encodeResult(const detail::Schema& schema, detail::Writes& writes, Encoder& out, const detail::ChannelSet* only = nullptr);

}  // namespace stategraph::engine
