#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/store.hpp>

// What the log of a thread cannot know, kept in a store.
namespace stategraph::langgraph {

/// The label of everything that is kept here.
inline constexpr const char* records_label = "langgraph-api";

/// A thread as clients made it. How it stands, its values and its questions are read from its log.
struct ThreadRecord {
    std::string thread_id = {};
    std::string created_at = {};
    std::string updated_at = {};
    std::string owner = {};  // the name of who made it; empty: nobody
    boost::json::object metadata = {};
    boost::json::object config = {};
    bool is_temporary = false;  // it is deleted when its run ends
    /// How long the thread is kept after its last change; 0: without limit.
    std::chrono::milliseconds ttl{0};
    bool keeps_latest = false;  // its newest checkpoint stays then
    /// When the server next checks whether the thread has expired.
    std::string expires_at = {};

    /// The graph that its runs have; empty: none has run.
    std::string graphId() const;
};

/// What was asked of a run.
struct RunRecord {
    std::string run_id = {};  // in the order of creation
    std::string thread_id = {};
    std::string assistant_id = {};
    std::string graph_id = {};
    std::string owner = {};
    std::string created_at = {};
    std::string updated_at = {};
    /// How it ended; "pending" until that is known.
    std::string status = "pending";
    std::string multitask_strategy = "reject";
    boost::json::object metadata = {};
    boost::json::object kwargs = {};
    bool is_temporary = false;  // it has a thread of its own
    bool keeps_thread = true;
    bool is_cancelled = false;   // a client has cancelled it, and it has not ended yet
    std::string begins_at = {};  // it waits until then; empty: it begins when its turn has come
    /// What it has stored is removed with it when it has stopped.
    bool is_rolled_back = false;
    /// The ids of the open questions that its answers are for, from when it begins; empty: it answers none.
    std::vector<std::string> questions = {};
    /// How the thread stood before it, unless it has an input: {"ns", "head", "writes": [{"path", "bytes"}]} of each
    /// log.
    boost::json::array before = {};
    std::int64_t attempt = 1;

    bool hasEnded() const { return status != "pending"; }
    /// Whether its thread is deleted when it has ended.
    bool losesThread() const { return is_temporary && !keeps_thread; }
};

/// An assistant, and its versions, the newest last.
struct AssistantRecord {
    std::string assistant_id = {};
    std::string graph_id = {};
    std::string owner = {};
    std::string created_at = {};
    std::string updated_at = {};
    std::string name = {};
    boost::json::value description = {};
    std::int64_t version = 1;
    boost::json::object config = {};
    boost::json::object context = {};
    boost::json::object metadata = {};
    boost::json::array versions = {};  // of objects
};

/// The records in a store. Safe from any thread. Errors of all calls: the store's.
class ApiRecords {
public:
    explicit ApiRecords(std::shared_ptr<BaseStore> store) : store_(std::move(store)) {}

    /// Writes that are stored together.
    class Batch {
    public:
        Batch& put(const ThreadRecord& thread);
        /// A run that has not ended is among the open ones (`openRuns`), and so is one whose thread is still to be
        /// deleted.
        Batch& put(const RunRecord& run);
        Batch& put(const AssistantRecord& assistant);
        Batch& remove(const RunRecord& run);
        /// What another part of the interface keeps.
        Batch& add(StoreOp op);
        /// Adds all of another batch.
        Batch& add(Batch more);

    private:
        friend class ApiRecords;
        std::vector<StoreOp> ops_;
    };
    void store(const Batch& batch) const;

    std::optional<ThreadRecord> thread(const std::string& thread_id) const;
    /// Stores a new thread, and more together with it. Returns false if there is a thread of its id; nothing is stored
    /// then.
    bool addThread(const ThreadRecord& added, Batch more = {}) const;
    /// Changes a thread and returns it, and stores more together with it; none: there is no such thread, and nothing is
    /// stored. One change at a time.
    std::optional<ThreadRecord> editThread(const std::string& thread_id,
                                           const std::function<void(ThreadRecord&)>& change, Batch more = {}) const;
    /// Changes what is stored of a run, if it has not ended. One change at a time.
    void editOpenRun(const std::string& thread_id, const std::string& run_id,
                     const std::function<void(RunRecord&)>& change) const;
    std::optional<RunRecord> run(const std::string& thread_id, const std::string& run_id) const;
    std::optional<AssistantRecord> assistant(const std::string& assistant_id) const;
    /// All of them, until `take` returns false. Cost: their number, in pages.
    void forEachThread(const std::function<bool(ThreadRecord&&)>& take) const;
    /// All of them. Cost: their number, in pages.
    void forEachAssistant(const std::function<void(AssistantRecord&&)>& take) const;
    /// The runs of a thread, the oldest first, until `take` returns false. Cost: those that were taken, in pages.
    void forEachRun(const std::string& thread_id, const std::function<bool(RunRecord&&)>& take) const;
    /// The runs of all threads that have not ended, or lose their threads, in the order of creation.
    std::vector<RunRecord> openRuns() const { return openRuns(StoreFilter()); }
    /// Those of one thread.
    std::vector<RunRecord> openRuns(const std::string& thread_id) const;

    /// Removes a thread with its runs.
    void removeThread(const std::string& thread_id) const;
    void removeAssistant(const std::string& assistant_id) const;
    /// Removes everything below some namespace of the store: for tests.
    void removeAll(const StoreNamespace& ns) const;

private:
    void forEach(const StoreNamespace& ns, std::size_t page_max, const std::function<bool(const StoreItem&)>& take,
                 const StoreFilter& filter = {}) const;
    std::vector<RunRecord> openRuns(const StoreFilter& filter) const;

    std::shared_ptr<BaseStore> store_;
    mutable stategraph::detail::Mutex edit_mutex_;
};

}  // namespace stategraph::langgraph
