#include <stategraph/config.hpp>

#include <stategraph/error.hpp>
#include <stategraph/retry.hpp>

#include <new>
#include <stdexcept>

namespace stategraph {

const char* toString(Status status) noexcept {
    switch (status) {
        case Status::done: return "done";
        case Status::interrupted: return "interrupted";
        case Status::breakpoint: return "breakpoint";
        case Status::cancelled: return "cancelled";
        case Status::timed_out: return "timed_out";
        case Status::drained: return "drained";
        case Status::sleeping: return "sleeping";
    }
    return "?";
}

const RunConfig& RunConfig::defaults() noexcept {
    static const RunConfig config;
    return config;
}

Config::operator RunConfig() const {
    if (!checkpoint_ns.empty()) {
        throw InvalidArgumentError("a run begins at the root: the checkpoint is of the subgraph '" + checkpoint_ns +
                                       "', whose state can be read and edited but not run by itself",
                                   {.thread_id = thread_id.toString(), .checkpoint_ns = checkpoint_ns});
    }
    return {.thread_id = thread_id, .checkpoint_id = checkpoint_id};
}

bool isRetryable(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const NodeTimeoutError&) {
        return true;
    } catch (const Error&) {
        return false;
    } catch (const std::logic_error&) {
        return false;
    } catch (const std::bad_alloc&) {
        return false;
    } catch (...) {
        return true;
    }
}

}  // namespace stategraph
