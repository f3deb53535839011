#pragma once
#include <cstddef>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/serve/log.hpp>

#include "serve/http.hpp"

// What clients are told of errors whose texts are for the operator: a number, which the log has beside the text.
namespace stategraph::serve {

class ToldErrors {
public:
    /// `shows`: clients are told the texts. Without a log its lines go to standard error.
    ToldErrors(bool shows, Log log);

    /// Where an error happened: the names of the endpoint and of the thread, or empty.
    struct Where {
        std::string endpoint = {};
        std::string thread = {};
    };
    /// Returns what a client is told of an error: "WHAT; error NUMBER". An error of a thread keeps its number as long
    /// as it is remembered, and the log has it once. Safe from any thread.
    std::string tell(std::string_view what, std::string_view text, const Where& where);
    /// The same for texts in states and events of a thread. Null if clients are told the texts.
    ErrorText texts(Where where);
    /// The answer to a failed request. What a client did wrong is told as it is.
    Failure failureOf(const std::exception_ptr& error, const Where& where);

private:
    std::string numberOf(std::string_view text, const Where& where);
    void log(const std::string& number, std::string_view text, const Where& where) const noexcept;

    const bool shows_;
    const Log log_;
    stategraph::detail::Mutex mutex_;
    std::map<std::string, std::string> numbers_ SG_GUARDED_BY(mutex_);  // by place and text
    std::size_t bytes_ SG_GUARDED_BY(mutex_) = 0;                       // of the keys
};

}  // namespace stategraph::serve
