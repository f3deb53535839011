#include <stategraph/error.hpp>

#include <utility>

#include <stategraph/interrupt.hpp>

#include "src/lasting.hpp"

namespace stategraph {
namespace {

// One field of the context, as in "thread '1'"; nothing for an unknown one.
void appendField(std::string& out, const char* name, const std::string& value, bool quoted) {
    if (value.empty()) return;
    out += out.empty() ? "" : ", ";
    out += name;
    out += quoted ? " '" : " ";
    out += value;
    if (quoted) out += '\'';
}

std::string describeContext(const ErrorContext& context) {
    std::string out;
    appendField(out, "thread", context.thread_id, true);
    appendField(out, "namespace", context.checkpoint_ns, true);
    appendField(out, "checkpoint", context.checkpoint_id, false);
    if (context.step) appendField(out, "step", std::to_string(*context.step), false);
    appendField(out, "node", context.node, true);
    appendField(out, "channel", context.channel, true);
    return out;
}

std::string withContext(const std::string& message, const ErrorContext& context) {
    const std::string where = describeContext(context);
    return where.empty() ? message : message + " [" + where + "]";
}

void fillIn(std::string& mine, const std::string& theirs) {
    if (mine.empty()) mine = theirs;
}

std::string listFaults(const std::vector<std::string>& faults) {
    std::string out = "invalid graph";
    if (faults.size() > 1) out += ", " + std::to_string(faults.size()) + " faults";
    const char* separator = ": ";
    for (const std::string& fault : faults) {
        out += separator;
        out += fault;
        separator = "; ";
    }
    return out;
}

// Without the context, which the first error says.
std::string messageOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& own) {
        return own.message();
    } catch (...) {
        return detail::describe(error);
    }
}

}  // namespace

const char* toString(Errc code) noexcept {
    switch (code) {
        case Errc::invalid_graph:
            return "INVALID_GRAPH";
        case Errc::invalid_update:
            return "INVALID_CONCURRENT_GRAPH_UPDATE";
        case Errc::invalid_argument:
            return "INVALID_ARGUMENT";
        case Errc::empty_input:
            return "EMPTY_INPUT";
        case Errc::recursion_limit:
            return "GRAPH_RECURSION_LIMIT";
        case Errc::node_failed:
            return "NODE_FAILED";
        case Errc::concurrent_update:
            return "CONCURRENT_UPDATE";
        case Errc::corrupt_checkpoint:
            return "CORRUPT_CHECKPOINT";
        case Errc::wrong_type:
            return "WRONG_TYPE";
        case Errc::missing_checkpointer:
            return "MISSING_CHECKPOINTER";
        case Errc::saver_failed:
            return "SAVER_FAILED";
        case Errc::thread_busy:
            return "THREAD_BUSY";
        case Errc::cancelled:
            return "CANCELLED";
        case Errc::node_timeout:
            return "NODE_TIMEOUT";
        case Errc::store_failed:
            return "STORE_FAILED";
        case Errc::corrupt_store:
            return "CORRUPT_STORE";
        case Errc::missing_store:
            return "MISSING_STORE";
    }
    return "UNKNOWN";
}

NodeTimeoutError::NodeTimeoutError(Kind kind, int limit_ms, ErrorContext context)
    : Error(Errc::node_timeout,
            (kind == Kind::run ? "the attempt took longer than its timeout of " : "the attempt gave no sign for its idle timeout of ") +
                std::to_string(limit_ms) + " ms and was given up",
            std::move(context)),
      kind_(kind), limit_ms_(limit_ms) {}

Error::Error(Errc code, std::string message, ErrorContext context)
    : std::runtime_error(std::string()),  // what() is ours, the base's copy would only cost memory
      code_(code),
      message_(std::move(message)),
      context_(std::move(context)),
      text_(withContext(message_, context_)) {}

void Error::addContext(const ErrorContext& context) {
    fillIn(context_.thread_id, context.thread_id);
    fillIn(context_.checkpoint_ns, context.checkpoint_ns);
    fillIn(context_.checkpoint_id, context.checkpoint_id);
    fillIn(context_.node, context.node);
    fillIn(context_.channel, context.channel);
    if (!context_.step) context_.step = context.step;
    makeText();
}

const std::vector<std::exception_ptr>& Error::others() const noexcept {
    static const engine::Lasting<std::vector<std::exception_ptr>> none;
    return others_ ? *others_ : *none;
}

void Error::addOthers(std::vector<std::exception_ptr> others) {
    if (others.empty()) return;
    if (others_) others.insert(others.begin(), others_->begin(), others_->end());
    others_ = std::make_shared<const std::vector<std::exception_ptr>>(std::move(others));
    makeText();
}

void Error::makeText() {
    text_ = withContext(message_, context_);
    if (!others_) return;
    constexpr std::size_t shown_max = 10;
    for (std::size_t i = 0; i < others_->size() && i < shown_max; ++i) text_ += "\n  and: " + messageOf((*others_)[i]);
    if (others_->size() > shown_max) text_ += "\n  and " + std::to_string(others_->size() - shown_max) + " more";
}

InvalidGraphError::InvalidGraphError(std::vector<std::string> faults)
    : Error(Errc::invalid_graph, listFaults(faults)), faults_(std::move(faults)) {}

NodeError::NodeError(std::string message, std::exception_ptr original, std::string task_id, ErrorContext context)
    : Error(Errc::node_failed, std::move(message), std::move(context)),
      original_(std::move(original)),
      reason_(detail::describe(original_)),
      task_id_(std::move(task_id)) {}

namespace detail {

std::string describe(const std::exception_ptr& error) {
    if (!error) return "unknown exception";
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        const char* text = e.what();
        return text != nullptr ? text : "an exception without a text";
    } catch (const char* text) {
        return text != nullptr ? text : "unknown exception";
    } catch (const std::string& text) {
        return text;
    } catch (...) {
        return "unknown exception";
    }
}

}  // namespace detail
const std::vector<Interrupt>& NodeError::interrupts() const noexcept {
    static const engine::Lasting<std::vector<Interrupt>> none;
    return interrupts_ ? *interrupts_ : *none;
}

void NodeError::setInterrupts(std::vector<Interrupt> interrupts) {
    interrupts_ = std::make_shared<const std::vector<Interrupt>>(std::move(interrupts));
}

}  // namespace stategraph
