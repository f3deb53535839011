#include "inspect/http/row_answers.hpp"

#include <utility>

#include "inspect/app/row_messages.hpp"
#include "inspect/http/api_call.hpp"

namespace stategraph::inspect {
namespace {

int statusOf(Errc code) {
    switch (code) {
        case Errc::concurrent_update:
        case Errc::thread_busy:
        case Errc::lease_lost:
        case Errc::thread_exists:
        case Errc::thread_changed:
        case Errc::unknown_interrupt:
            return 409;
        case Errc::invalid_argument:
        case Errc::wrong_type:
            return 400;
        case Errc::saver_failed:
            return 503;
        default:
            return 500;
    }
}

}  // namespace

serve::HandlerAnswer rowsAnswer(std::string message) {
    if (message.size() > rows::answer_bytes_max)
        throw Refused{413, "the answer has " + std::to_string(message.size() >> 20U) +
                               " MiB, which is too much for one request; read it inside the program, or request less"};
    return {.content_type = std::string(rows::content_type), .body = std::move(message)};
}

serve::HandlerAnswer rowsFailure(const Error& error) {
    const ErrorContext& at = error.context();
    const rows::Failed view{error.message(), toString(error.code()), at.thread_id, at.checkpoint_ns, at.checkpoint_id};
    return {.status = statusOf(error.code()), .body = toJson(view) + "\n"};
}

}  // namespace stategraph::inspect
