#include <stategraph/error.hpp>

#include <type_traits>
#include <utility>

#include <stategraph/detail/call_failure.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/value.hpp>

#include "src/value/lasting.hpp"
#include "src/value/times.hpp"

namespace stategraph {
namespace {

// Appends one field of the context, such as "thread '1'"; appends nothing if the field is unknown.
void appendField(std::string& out, const char* name, const std::string& value, bool quoted) {
    if (value.empty()) return;
    out += out.empty() ? "" : ", ";
    out += name;
    out += quoted ? " '" : " ";
    out += value;
    if (quoted) out += '\'';
}

// Returns text such as "send 3 with {"id":7}".
std::string describeSend(const ErrorContext& context) {
    if (!context.send) return {};
    return "send " + std::to_string(*context.send) + (context.input.empty() ? "" : " with " + context.input);
}

std::string describeContext(const ErrorContext& context) {
    std::string out;
    appendField(out, "thread", context.thread_id, true);
    appendField(out, "namespace", context.checkpoint_ns, true);
    appendField(out, "checkpoint", context.checkpoint_id, false);
    if (context.step) appendField(out, "step", std::to_string(*context.step), false);
    appendField(out, "node", context.node, true);
    appendField(out, "channel", context.channel, true);
    out += out.empty() || !context.send ? "" : ", ";
    out += describeSend(context);
    return out;
}

// what() ends at the first byte of value 0, which names and values from outside may have: it is shown as \0.
std::string shown(std::string text) {
    for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at))
        text.replace(at, 1, "\\0");
    return text;
}

std::string withContext(const std::string& message, const ErrorContext& context) {
    const std::string where = describeContext(context);
    return shown(where.empty() ? message : message + " [" + where + "]");
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

// Returns the message without the context, which the first error has already said, except for the part that
// distinguishes tasks of the same node.
std::string messageOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& own) {
        return own.message() + (own.context().send ? " [" + describeSend(own.context()) + "]" : "");
    } catch (...) {
        return detail::describe(error);
    }
}

// Returns whether `known` contains everything that `context` says.
bool isWithin(const ErrorContext& known, const ErrorContext& context) {
    const auto is = [](const auto& mine, const auto& theirs) {
        return mine == std::decay_t<decltype(mine)>() || mine == theirs;
    };
    return is(context.thread_id, known.thread_id) && is(context.checkpoint_ns, known.checkpoint_ns) &&
           is(context.checkpoint_id, known.checkpoint_id) && is(context.node, known.node) &&
           is(context.channel, known.channel) && is(context.step, known.step) && is(context.send, known.send) &&
           is(context.input, known.input);
}

// Shortens JSON that people read to this many bytes; it is cut between characters.
std::string shortened(std::string json) {
    constexpr std::size_t bytes_max = 100;
    if (json.size() <= bytes_max) return json;
    json.resize(detail::beginningOf(json, bytes_max).size());
    return json + "...";
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
        case Errc::lease_lost:
            return "LEASE_LOST";
        case Errc::thread_exists:
            return "THREAD_EXISTS";
        case Errc::thread_changed:
            return "THREAD_CHANGED";
        case Errc::unknown_interrupt:
            return "UNKNOWN_INTERRUPT";
        case Errc::store_changed:
            return "STORE_CHANGED";
    }
    return "UNKNOWN";
}

NodeTimeoutError::NodeTimeoutError(Kind kind, std::chrono::milliseconds limit, ErrorContext context)
    : Error(Errc::node_timeout,
            (kind == Kind::run ? "the attempt took longer than its timeout of "
                               : "the attempt reported no progress for its idle timeout of ") +
                times::textOf(limit) + " and was abandoned",
            std::move(context)),
      kind_(kind),
      limit_(limit) {}

Error::Error(Errc code, std::string message, ErrorContext context)
    : std::runtime_error(std::string()),  // what() is overridden, so a copy in the base class would only cost memory
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
    if (!context_.send) {
        context_.send = context.send;
        context_.input = context.input;
    }
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
    for (std::size_t i = 0; i < others_->size() && i < shown_max; ++i)
        text_ += "\n  and: " + shown(messageOf((*others_)[i]));
    if (others_->size() > shown_max) text_ += "\n  and " + std::to_string(others_->size() - shown_max) + " more";
}

InvalidGraphError::InvalidGraphError(std::vector<std::string> faults)
    : Error(Errc::invalid_graph, listFaults(faults)), faults_(std::move(faults)) {}

UnknownInterruptError::UnknownInterruptError(Reason reason, std::string message, std::vector<std::string> ids,
                                             std::vector<Interrupt> pending, bool is_answered)
    : InvalidArgumentError(Errc::unknown_interrupt, std::move(message), {}),
      reason_(reason),
      is_answered_(is_answered),
      ids_(std::move(ids)),
      pending_(std::make_shared<const std::vector<Interrupt>>(std::move(pending))) {}

const char* toString(UnknownInterruptError::Reason reason) noexcept {
    switch (reason) {
        case UnknownInterruptError::Reason::not_pending:
            return "not_pending";
        case UnknownInterruptError::Reason::empty_map:
            return "empty_map";
        case UnknownInterruptError::Reason::ambiguous:
            return "ambiguous";
    }
    return "unknown";
}

NodeError::NodeError(std::string message, std::exception_ptr original, std::string task_id, ErrorContext context)
    : Error(Errc::node_failed, std::move(message), std::move(context)),
      original_(std::move(original)),
      reason_(detail::describeWithin(this->context(), original_)),
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

bool isOfTheThread(const std::exception_ptr& thrown) noexcept {
    try {
        std::rethrow_exception(thrown);
    } catch (const NodeError& error) {
        return isOfTheThread(error.original());
    } catch (const Error& error) {
        const Errc code = error.code();
        return code == Errc::saver_failed || code == Errc::corrupt_checkpoint || code == Errc::concurrent_update ||
               code == Errc::lease_lost;
    } catch (...) {
        return false;
    }
}

std::string describeWithin(const ErrorContext& known, const std::exception_ptr& error) {
    try {
        if (error) std::rethrow_exception(error);
    } catch (const Error& own) {
        if (own.others().empty() && isWithin(known, own.context())) return own.message();
    } catch (...) {
        // Any other exception has no context.
    }
    return describe(error);
}

}  // namespace detail

const Value& NodeError::input() const noexcept {
    static const engine::Lasting<Value> none;
    return input_ ? *input_ : *none;
}

void NodeError::setSend(std::uint64_t index, Value input) {
    ErrorContext context;
    context.send = index;
    context.input = shortened(input.toJson());
    input_ = std::make_shared<const Value>(std::move(input));
    addContext(context);
}

const std::vector<Interrupt>& NodeError::interrupts() const noexcept {
    static const engine::Lasting<std::vector<Interrupt>> none;
    return interrupts_ ? *interrupts_ : *none;
}

void NodeError::setInterrupts(std::vector<Interrupt> interrupts) {
    interrupts_ = std::make_shared<const std::vector<Interrupt>>(std::move(interrupts));
}

}  // namespace stategraph
