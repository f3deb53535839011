#include <stategraph/config.hpp>

#include <new>
#include <stdexcept>

#include <stategraph/error.hpp>
#include <stategraph/retry.hpp>

#include "src/graph/namespaces.hpp"
#include "src/value/lasting.hpp"

namespace stategraph {

const RunConfig& RunConfig::defaults() noexcept {
    static const engine::Lasting<RunConfig> config;
    return *config;
}

struct RunContext::Both {
    RunContext first, second;
};

RunContext RunContext::with(RunContext other) const {
    if (empty()) return other;
    if (other.empty()) return *this;
    return std::make_shared<const Both>(Both{std::move(other), *this});
}

const void* RunContext::inside(const char* type) const noexcept {
    if (type_ != &detail::context_type<Both>) return nullptr;
    const auto* const both = static_cast<const Both*>(value_.get());
    for (const RunContext* const each : {&both->first, &both->second}) {
        if (each->type_ == type) return each->value_.get();
        if (const void* const found = each->inside(type)) return found;
    }
    return nullptr;
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
