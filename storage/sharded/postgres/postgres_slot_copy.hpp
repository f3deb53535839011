#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/postgres/postgres_connection.hpp"

namespace stategraph::checkpoint {

/// Another mover has begun a move of the slot, a writer has ended this one, or the copy differs. It may be begun again.
class SlotMoveLost : public SaverError {
public:
    using SaverError::SaverError;
};

/// Copies the rows of one slot from a cluster to another one, which stores them only while the slot is arriving there
/// in the version of this move. They are on its disk when a later transaction is that waits for it.
class SlotCopy {
public:
    struct Schemas {
        std::string from;  // quoted
        std::string to;
    };
    /// The connections must outlive it. `tick` is called between parts.
    SlotCopy(PostgresConnection& from, PostgresConnection& to, const Schemas& schemas, std::function<void()> tick);

    /// Before anything else.
    void begin(std::size_t slot, std::int64_t version);

    /// The names of threads of the slot after one, in order; "" is before the first.
    std::vector<std::string> threadsAfter(const std::string& name, std::size_t limit);
    struct Touched {
        std::vector<std::string> appended;
        std::vector<std::string> changed;  // more than an append
    };
    /// Threads that were written to since the last call, some thousand writes at most. Each must be copied then.
    Touched takeTouched();

    /// All rows of these threads except those in the queue, in place of the old ones; or, if they were only appended
    /// to, what is new. Without commits of a thread, its other rows.
    void copyThreads(std::span<const std::string> names, bool is_whole);
    /// The descriptions of graphs, and from where on the target numbers inputs: before any thread.
    void copyGraphs();
    /// The threads in the queue, without their leases, in place of the old ones.
    void copyQueue();
    /// Whether both have the same logs with the same newest commits, inputs and threads in the queue.
    bool isSame();

    std::uint64_t commits() const noexcept { return commits_; }
    std::uint64_t bytes() const noexcept { return bytes_; }
    void resetCounts() noexcept { commits_ = bytes_ = 0; }

private:
    class Part;
    using LogKey = std::pair<std::string, std::string>;  // thread, namespace

    struct Source {
        PostgresStatement threads, touched, logs, commits, writes, inputs, work, graphs, last_input, digest;
    };
    struct Target {
        PostgresStatement heads, put_logs, put_commits, put_writes, drop_writes, drop_threads, drop_inputs, put_inputs,
            drop_work, put_work, put_graphs, raise_inputs, digest;
    };
    static Source sourceOf(const std::string& quoted_schema);
    static Target targetOf(const std::string& quoted_schema);

    PostgresParameters arrival() const;
    void store(const PostgresStatement& statement, const PostgresParameters& parameters);
    void storeTexts(const PostgresStatement& read, const PostgresParameters& which, const PostgresStatement& write);
    std::map<std::int64_t, std::int64_t> copyLogs(const PostgresResult& logs);
    void copyCommits(const PostgresResult& logs, const std::map<LogKey, CheckpointId>& heads,
                     const std::map<std::int64_t, std::int64_t>& numbers);
    void copyWrites(const std::map<std::int64_t, std::int64_t>& numbers);

    PostgresConnection& from_;
    PostgresConnection& to_;
    const Source source_;
    const Target target_;
    const std::function<void()> tick_;
    std::int64_t slot_ = 0;
    std::int64_t version_ = 0;
    std::uint64_t commits_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace stategraph::checkpoint
