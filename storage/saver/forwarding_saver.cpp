#include <stategraph/forwarding_saver.hpp>

#include <utility>

#include <stategraph/error.hpp>

namespace stategraph {

ForwardingSaver::ForwardingSaver(std::shared_ptr<BaseCheckpointSaver> inner) : inner_(std::move(inner)) {
    if (!inner_) throw InvalidArgumentError("the inner saver is null; give it the saver that stores");
}
ForwardingSaver::~ForwardingSaver() = default;

void ForwardingSaver::put(const PutRequest& request) { inner_->put(request); }
std::optional<CheckpointTuple> ForwardingSaver::getTuple(const TupleQuery& query) { return inner_->getTuple(query); }
std::vector<ListedCheckpoint> ForwardingSaver::list(const ListQuery& query) { return inner_->list(query); }
void ForwardingSaver::deleteThread(std::string_view thread_id) { inner_->deleteThread(thread_id); }
void ForwardingSaver::copyThread(std::string_view from, std::string_view to) { inner_->copyThread(from, to); }
std::size_t ForwardingSaver::prune(const PruneRequest& request) { return inner_->prune(request); }

std::optional<std::vector<IndexedThread>> ForwardingSaver::openThreads(const OpenThreadsQuery& query) {
    return inner_->openThreads(query);
}
std::optional<std::vector<IndexedThread>> ForwardingSaver::newestThreads(const NewestThreadsQuery& query) {
    return inner_->newestThreads(query);
}
std::optional<std::vector<DueThread>> ForwardingSaver::dueThreads(const DueThreadsQuery& query) {
    return inner_->dueThreads(query);
}
std::optional<ThreadCounts> ForwardingSaver::countThreads(std::size_t most) { return inner_->countThreads(most); }

void ForwardingSaver::putGraph(const GraphFingerprint& fingerprint, std::string_view bytes) {
    inner_->putGraph(fingerprint, bytes);
}
std::optional<std::string> ForwardingSaver::getGraph(const GraphFingerprint& fingerprint) {
    return inner_->getGraph(fingerprint);
}
std::optional<std::uint64_t> ForwardingSaver::storedBytes() { return inner_->storedBytes(); }

bool ForwardingSaver::putIsSlow() const noexcept { return inner_->putIsSlow(); }
bool ForwardingSaver::holdsThreads() const noexcept { return inner_->holdsThreads(); }
std::unique_ptr<ThreadHold> ForwardingSaver::tryHold(std::string_view thread_id) { return inner_->tryHold(thread_id); }

bool ForwardingSaver::answersLater() const noexcept { return inner_->answersLater(); }
void ForwardingSaver::asyncPut(const PutRequest& request, PutCompletion& completion) noexcept {
    inner_->asyncPut(request, completion);
}
void ForwardingSaver::asyncGetTuple(const TupleQuery& query, TupleCompletion& completion) noexcept {
    inner_->asyncGetTuple(query, completion);
}
std::size_t ForwardingSaver::commitsAhead() const noexcept { return inner_->commitsAhead(); }

}  // namespace stategraph
