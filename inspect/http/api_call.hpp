#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <stategraph/value.hpp>

#include "inspect/http/api.hpp"
#include "inspect/store.hpp"

namespace stategraph::inspect {

/// The request is understood and refused.
struct Refused {
    int status;
    std::string text;
};

/// One request, and the thread and the checkpoint that its path names.
struct ApiCall {
    Api& api;
    const serve::HandlerRequest& request;
    std::string thread = {};
    /// An id, "newest", or empty.
    std::string checkpoint = {};

    /// Empty if there is none.
    std::string text(const std::string& name) const;
    /// Errors: InvalidArgumentError for what is no number between these.
    std::size_t number(const std::string& name, std::size_t otherwise, std::size_t least, std::size_t most) const;
    /// The checkpoint that the path and `ns` name. Errors: InvalidArgumentError for an id that is none.
    Config config() const;
    /// The request's body. Errors: as fromJson.
    template <class T>
    T body() const {
        return fromJson<T>(request.body.empty() ? std::string_view("{}") : request.body);
    }
};

/// A struct as the body of an answer.
template <class View>
serve::HandlerAnswer json(const View& view) {
    return {.body = toJson(view) + "\n"};
}

/// Larger threads are neither exported nor copied into memory for a page.
constexpr std::size_t page_thread_bytes_max = std::size_t{256} << 20U;

struct ApiRow {
    enum class Needs : std::uint8_t { nothing, write, graph };
    std::string_view method;
    /// Behind /api/, as "threads/:thread/timeline".
    std::string_view path;
    serve::HandlerAnswer (*run)(ApiCall& call);
    Needs needs = Needs::nothing;
    /// A client that accepts text/event-stream is sent the answer again whenever it is another one, which is looked at
    /// that often. 0: it cannot be followed.
    std::chrono::milliseconds follow = {};
};

/// The answer to a call, and those that follow when they differ. Errors: those of the first answer.
serve::HandlerAnswer followed(ApiCall& call, const ApiRow& row);

serve::HandlerAnswer about(ApiCall& call);
serve::HandlerAnswer threads(ApiCall& call);
serve::HandlerAnswer questions(ApiCall& call);
serve::HandlerAnswer logs(ApiCall& call);
serve::HandlerAnswer timeline(ApiCall& call);
serve::HandlerAnswer head(ApiCall& call);
serve::HandlerAnswer checkpoint(ApiCall& call);
serve::HandlerAnswer valuePage(ApiCall& call);
serve::HandlerAnswer wholeValue(ApiCall& call);
serve::HandlerAnswer changes(ApiCall& call);
serve::HandlerAnswer difference(ApiCall& call);
serve::HandlerAnswer causes(ApiCall& call);
serve::HandlerAnswer writers(ApiCall& call);
serve::HandlerAnswer graph(ApiCall& call);
serve::HandlerAnswer threadStats(ApiCall& call);
serve::HandlerAnswer storeStats(ApiCall& call);
serve::HandlerAnswer exportLines(ApiCall& call);
serve::HandlerAnswer storeAnswer(ApiCall& call);
serve::HandlerAnswer storeFork(ApiCall& call);
serve::HandlerAnswer storeEdit(ApiCall& call);
serve::HandlerAnswer copyWhole(ApiCall& call);
serve::HandlerAnswer pruneWhole(ApiCall& call);
serve::HandlerAnswer deleteWhole(ApiCall& call);
serve::HandlerAnswer beginRun(ApiCall& call);
serve::HandlerAnswer stopRun(ApiCall& call);

}  // namespace stategraph::inspect
