#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/error.hpp>
#include <stategraph/serve/handler.hpp>

#include "langgraph/body.hpp"
#include "langgraph/records.hpp"
#include "langgraph/service.hpp"

namespace stategraph::langgraph {

/// One request, and what its target names. Errors of its methods: ApiError.
class Call {
public:
    Call(Service& service, const serve::HandlerRequest& request, std::vector<std::string> ids)
        : service_(service), request_(request), ids_(std::move(ids)) {}

    Service& service() const noexcept { return service_; }
    const serve::HandlerRequest& request() const noexcept { return request_; }
    /// The segments of the target that the route calls ":id", in their order.
    const std::string& id(std::size_t index) const { return ids_.at(index); }

    Body body() const { return Body::parse(request_.body); }
    /// The body, which may be left out.
    Body bodyIfGiven() const;
    /// A parameter of the target; empty if it is not given.
    std::string parameter(const std::string& name) const;
    std::vector<std::string> parameters(const std::string& name) const;
    bool flag(const std::string& name) const;

    /// Counts the request, which stores its body and begins some runs, toward the client's limits. 429 beyond them.
    void countStored(std::size_t runs = 0) const;

    /// The name of who asks, if threads belong to users; otherwise empty. 401 if they do and the request names nobody.
    std::string owner() const;
    /// The thread of the target's first id. 422 if that is no UUID; 404 if there is none, also if it is another's.
    ThreadRecord thread() const;
    /// The same for any id.
    ThreadRecord thread(const std::string& thread_id) const;
    /// Whether another user has begun a thread of this id in a graph's log, by this interface or another door, if
    /// threads belong to users. Errors: the savers'.
    bool isAnothers(const std::string& thread_id) const;
    /// The graph of a thread; null if nothing has run on it. 404 if this server has the graph no more.
    const ServedGraph* graphOf(const ThreadRecord& thread) const;

private:
    Service& service_;
    const serve::HandlerRequest& request_;
    const std::vector<std::string> ids_;
};

/// The answer with a JSON value.
serve::HandlerAnswer answerOf(const boost::json::value& value, int status = 200);
serve::HandlerAnswer noContent();
/// The answer with one page of a list; `total` of all pages, from `offset` on.
serve::HandlerAnswer pageOf(boost::json::array items, std::size_t offset, std::size_t total);
/// The members of an object that a client selects; all if it selects none. "values.name" is one member of `values`.
boost::json::object selected(boost::json::object object, const std::vector<std::string>& names);

/// A route: its method, its target with ":id" for segments of any text, and what answers it.
struct Row {
    std::string_view method;
    std::string_view target;
    serve::HandlerAnswer (*answer)(const Call& call);
};

// The routes, group by group.
std::span<const Row> metaRows();
std::span<const Row> assistantRows();
std::span<const Row> threadRows();
std::span<const Row> stateRows();
std::span<const Row> runRows();
std::span<const Row> storeRows();
std::span<const Row> scheduleRows();
std::span<const Row> threadStreamRows();
std::span<const Row> joinThreadRows();

/// What an error of the library means for a client, as an HTTP status; none: it is not about the request.
std::optional<int> statusOf(const Error& error) noexcept;

/// Answers a request for a target below `first`, the first segment. Safe from any thread.
serve::HandlerAnswer answer(Service& service, std::string_view first, const serve::HandlerRequest& request);

}  // namespace stategraph::langgraph
