#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/saver.hpp>

#include "inspect/app/app_client.hpp"
#include "inspect/app/row_messages.hpp"

namespace stategraph::inspect {

/// The saver of a running program, through the program's inspector: every method is one request, which the program
/// answers with its own saver. So everything that takes a saver works on a running program: the commands, the page, the
/// readers. A program that hides values (ServerOptions::redact) refuses rows. Safe from any thread. Errors of every
/// method: SaverError for a program that cannot be reached or does not answer as an inspector does; the errors that its
/// saver throws.
class AppSaver final : public BaseCheckpointSaver {
public:
    /// Asks the program who it is. Without `for_writing`, methods that store throw SaverError, and nothing is sent.
    /// Errors: SaverError, also for a wrong key, for a program of a version without rows or
    /// with other ones, and with `for_writing` for one that is read-only.
    AppSaver(AppAddress address, bool for_writing, AppLimits limits = {});

    AppClient& client() noexcept { return client_; }
    /// The names of the graphs that the program serves.
    const std::vector<std::string>& graphs() const noexcept { return graphs_; }

    /// Lets the program check which threads its graphs cannot resume. Errors: InvalidArgumentError for a graph that it
    /// does not have, and for lines that have no threads.
    rows::Checked check(const rows::Check& wanted);

    void put(const PutRequest& request) override;
    std::optional<CheckpointTuple> getTuple(const TupleQuery& query) override;
    std::vector<ListedCheckpoint> list(const ListQuery& query) override;
    void deleteThread(std::string_view thread_id) override;
    void copyThread(std::string_view from, std::string_view to) override;
    /// `PruneRequest::rewriter` is not used, because the program rewrites its records itself.
    std::size_t prune(const PruneRequest& request) override;
    std::optional<std::vector<IndexedThread>> openThreads(const OpenThreadsQuery& query) override;
    std::optional<std::vector<IndexedThread>> newestThreads(const NewestThreadsQuery& query) override;
    std::optional<std::vector<DueThread>> dueThreads(const DueThreadsQuery& query) override;
    std::optional<ThreadCounts> countThreads(std::size_t most) override;
    void putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) override;
    std::optional<std::string> getGraph(const GraphFingerprint& fingerprint) override;
    std::optional<std::uint64_t> storedBytes() override;

private:
    template <class T, class Message>
    T ask(const char* operation, const Message& message, bool stores = false);
    template <class T, class Message>
    T send(const std::string& path, const Message& message, bool stores);

    void requireWriting() const;

    AppClient client_;
    const bool for_writing_;
    std::vector<std::string> graphs_;
};

/// Throws what an answer says whose status is not 2xx: as the program's own error of the same kind where it has one,
/// otherwise SaverError.
[[noreturn]] void throwRefusal(const AppAddress& address, const AppAnswer& answer);

}  // namespace stategraph::inspect
