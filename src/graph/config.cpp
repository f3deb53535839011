#include <stategraph/config.hpp>

#include <new>
#include <stdexcept>

#include <stategraph/error.hpp>
#include <stategraph/retry.hpp>

#include "src/graph/namespaces.hpp"
#include "src/value/lasting.hpp"

namespace stategraph {

const char* toString(Status status) noexcept {
    switch (status) {
        case Status::done:
            return "done";
        case Status::interrupted:
            return "interrupted";
        case Status::breakpoint:
            return "breakpoint";
        case Status::cancelled:
            return "cancelled";
        case Status::timed_out:
            return "timed_out";
        case Status::drained:
            return "drained";
        case Status::sleeping:
            return "sleeping";
    }
    return "?";
}

const RunConfig& RunConfig::defaults() noexcept {
    static const engine::Lasting<RunConfig> config;
    return *config;
}

RunConfig::operator Config() const {
    return {.thread_id = thread_id, .checkpoint_id = checkpoint_id, .checkpoint_ns = checkpoint_ns};
}

Config::operator RunConfig() const {
    return {.thread_id = thread_id, .checkpoint_id = checkpoint_id, .checkpoint_ns = checkpoint_ns};
}

std::string keyedNamespace(std::string_view node, std::string_view key) {
    std::string ns(node);
    ns += ":=";
    engine::appendNamespaceKey(ns, key);
    return ns;
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
