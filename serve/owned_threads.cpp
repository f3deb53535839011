#include "serve/ownership.hpp"
#include "serve/reply.hpp"

// Answers for threads that belong to their users (ServerOptions::owned).
namespace stategraph::serve {

namespace {

/// Whether the request begins a thread that does not exist.
bool begins(const Asked& asked) {
    if (asked.chat) return asked.chat->decisions.isNull();
    if (asked.ag_ui) return asked.ag_ui->beginsRun() && !asked.ag_ui->answers();
    return asked.operation == "start" || asked.isConversation();
}

}  // namespace

Answer Connection::noThread(const Request& request, const Asked& asked) const {
    return textAnswer(request, http::status::not_found, json_type,
                      errorJson("there is no thread '" + std::string(asked.thread()) + "'"));
}

std::optional<ThreadOwner> Connection::threadFor(const Asked& asked, Endpoint& endpoint) const {
    if (!shared_->options.owned) return ThreadOwner();
    const ThreadId thread(asked.thread());
    ThreadOwner found = endpoint.ownerOf(thread);
    if (isOwn(found, asked.identity) || (!found.is_begun && begins(asked))) return found;
    return {};
}

LookWhose Connection::lookWhose(const Asked& asked, const std::shared_ptr<Endpoint>& endpoint) const {
    if (!shared_->options.owned) return {};
    return [endpoint, thread = ThreadId(asked.thread()), who = asked.identity] {
        const ThreadOwner found = endpoint->ownerOf(thread);
        if (isOwn(found, who)) return Whose::own;
        return found.is_begun ? Whose::anothers : Whose::not_begun;
    };
}

std::optional<Answer> Connection::refusalOfOwned(const Request& request, const Asked& asked, Endpoint& endpoint) const {
    if (asked.thread().empty() || asked.unread_body) return {};
    if (!asked.identity || asked.identity->name.empty()) {
        return textAnswer(request, http::status::unauthorized, json_type,
                          errorJson("threads of this server belong to users, and the request names none"));
    }
    // A run that is about to store its thread: another's is in the way, and a page may come back to its own.
    const auto run = shared_->runs->find(endpoint, ThreadId(asked.thread()));
    const bool is_own_run = run && run->owner() == asked.identity->name;
    if (is_own_run && asked.operation == "stream") return {};
    const std::optional<ThreadOwner> found = threadFor(asked, endpoint);
    if (!found || (!found->is_begun && run && !is_own_run)) return noThread(request, asked);
    return {};
}

Answer Connection::failed(const Request& request, const Asked& asked, const std::exception_ptr& error) const {
    const ToldErrors::Where where{asked.route.name, std::string(asked.thread())};
    const Failure failure = shared_->errors.failureOf(error, where);
    // Another user may have begun the thread at the same time, in this process or another one.
    const auto endpoint =
        shared_->options.owned && !asked.thread().empty() ? shared_->endpoint(asked.route.name) : nullptr;
    if (endpoint && failure.status == http::status::conflict) {
        const auto run = shared_->runs->find(*endpoint, ThreadId(asked.thread()));
        const bool is_own_run = run && asked.identity && run->owner() == asked.identity->name;
        if (!is_own_run && !isOwn(endpoint->ownerOf(ThreadId(asked.thread())), asked.identity))
            return noThread(request, asked);
    }
    return textAnswer(request, failure.status, json_type, failure.json);
}

}  // namespace stategraph::serve
