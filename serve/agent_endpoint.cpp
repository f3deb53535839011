#include <stategraph/serve/agent_endpoint.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>

namespace stategraph::serve {

namespace {

constexpr std::size_t message_id_max = 256;

struct Start {
    std::optional<std::string> text = {};
    /// In addition to the text.
    std::vector<model::File> files = {};
    /// The client's id of the message.
    std::optional<std::string> message_id = {};
    /// Whether the message is one that the conversation has: it is replaced, what came after it is removed, and it is
    /// answered anew.
    bool anew = false;
    std::optional<Value> input = {};
    static constexpr auto fields() {
        return stategraph::fields(field("text", &Start::text), field("files", &Start::files, defaulted),
                                  field("message_id", &Start::message_id), field("anew", &Start::anew, defaulted),
                                  field("input", &Start::input));
    }
};
struct Decide {
    std::string call_id = {};
    std::optional<bool> approved = {};
    std::string reason = {};
    std::optional<Value> arguments = {};
    Value output = {};
    bool is_error = false;
    static constexpr auto fields() {
        return stategraph::fields(field("call_id", &Decide::call_id), field("approved", &Decide::approved),
                                  field("reason", &Decide::reason, defaulted), field("arguments", &Decide::arguments),
                                  field("output", &Decide::output, defaulted),
                                  field("is_error", &Decide::is_error, defaulted));
    }
};

/// There may be several at the same time, from a page that waited for all of them.
struct Decisions {
    std::vector<Value> decisions = {};
    static constexpr auto fields() { return stategraph::fields(field("decisions", &Decisions::decisions)); }
};

class AgentEndpoint final : public GraphEndpoint<agent::State> {
public:
    AgentEndpoint(const agent::Agent& agent, EndpointOptions options)
        : GraphEndpoint(agent.graph(), std::move(options)), agent_(agent) {}

    Begin prepare(Operation operation, const ThreadId& thread, const Value& body) override {
        if (operation == Operation::start) return start(thread, body);
        if (operation == Operation::decide) return decide(thread, body);
        return GraphEndpoint::prepare(operation, thread, body);
    }

    bool hasEnded(const ThreadId& /*thread*/) override { return false; }
    bool takesTexts() const override { return true; }
    bool isReserved(const ThreadId& name) const override { return name.view().starts_with("inbox "); }

    void send(const ThreadId& thread, const Value& body, bool steers) override {
        const auto given = body.asStrict<Start>();
        if (!given.text || given.anew)
            throw InvalidArgumentError(
                "while a run is under way a new message can be sent, and nothing be edited or asked anew");
        model::Message message = messageOf(given);
        if (given.message_id) {
            const Conversation known = conversation(thread);
            if (isKnown(known.messages, given)) return;
            message = messagesOf(known.messages, given).back();
        }
        agent_.send(thread, std::move(message), steers ? agent::WhileRunning::steer : agent::WhileRunning::enqueue);
    }
    /// A run that has failed, was stopped or waits for a person is not answered by a turn that nobody asked for.
    Begin takeSent(const ThreadId& thread) override {
        if (!agent_.hasSent(thread) || endingOf(thread) != Status::done) return {};
        return begin(agent::said(std::vector<model::Message>()));
    }

private:
    Begin start(const ThreadId& thread, const Value& body) const {
        const auto given = body.asStrict<Start>();
        if (given.text.has_value() == given.input.has_value())
            throw InvalidArgumentError("give either \"text\" or \"input\"");
        if (given.text && given.message_id) {
            const Conversation known = conversation(thread);
            if (isKnown(known.messages, given)) return goOn(known, given);
            return startAt(known, given);
        }
        if (given.text) return begin(agent::said(messagesOf({}, given)));
        if (!options().input_channels) {
            throw InvalidArgumentError(
                "this agent takes \"text\" and \"files\"; \"input\" needs EndpointOptions::input_channels");
        }
        detail::checkInput(*given.input, options());
        return begin(Update<agent::State>::of(*given.input));
    }
    /// A conversation as it was read, and its checkpoint. It is empty if nothing is stored.
    struct Conversation {
        std::vector<model::Message> messages = {};
        CheckpointId at = {};
    };
    /// The run is refused if another process has changed the conversation since it was read, because the ids of the
    /// messages were chosen by what it was.
    Begin startAt(const Conversation& known, const Start& given) const {
        return [run = begin(agent::said(messagesOf(known.messages, given))), at = known.at](RunConfig config) {
            if (config.only_at.empty()) config.only_at = at;
            config.only_new = config.only_new || (at.empty() && config.on_busy != OnBusy::replace);
            return run(std::move(config));
        };
    }
    /// Returns whether a client has sent the message again, as after a lost response. It is the same turn.
    static bool isKnown(const std::vector<model::Message>& known, const Start& given) {
        if (given.anew) return false;
        const model::Message message = messageOf(given);
        const std::string id = userMessageId(*given.message_id);
        return std::ranges::any_of(
            known, [&](const model::Message& each) { return each.id == id && each.content == message.content; });
    }
    /// Continues the turn, if it was stopped or its process has died. The messages that it has written are not written
    /// again.
    Begin goOn(const Conversation& known, const Start& given) const {
        return [run = begin(RESUME), is_refused = startAt(known, given), at = known.at](RunConfig config) {
            if (config.only_new) return is_refused(std::move(config));
            if (config.only_at.empty()) config.only_at = at;
            return run(std::move(config));
        };
    }
    static model::Message messageOf(const Start& given) {
        model::Message message;
        message.content.assign(given.files.begin(), given.files.end());
        if (!given.text->empty() || given.files.empty()) message.content.emplace_back(model::Text{*given.text});
        return message;
    }
    /// Returns what a message of the user changes in the conversation.
    static std::vector<model::Message> messagesOf(const std::vector<model::Message>& known, const Start& given) {
        model::Message message = messageOf(given);
        std::vector<model::Message> changes;
        if (given.message_id) {
            message.id = userMessageId(*given.message_id);
            const std::optional<std::size_t> place = placeOf(message, known);
            if (place && given.anew) {
                message.id = known[*place].id;
                for (std::size_t after = *place + 1; after < known.size(); ++after) {
                    model::Message removal;
                    removal.role = model::Role::remove;
                    removal.id = known[after].id;
                    changes.push_back(std::move(removal));
                }
            } else if (place && known[*place].id == message.id) {
                message.id.clear();  // the client used the id again, for another message
            }
        }
        changes.push_back(std::move(message));
        return changes;
    }
    /// Returns the stored messages of a thread; none if the agent stores nothing.
    Conversation conversation(const ThreadId& thread) const {
        try {
            auto read = graph().getState({.thread_id = thread});
            return {std::move(read.values.messages), read.config.checkpoint_id};
        } catch (const MissingCheckpointerError&) {
            return {};
        }
    }
    /// Returns the id under which a client's message is stored. It cannot be that of another kind of message.
    static std::string userMessageId(const std::string& id) {
        if (id.empty() || id.size() > message_id_max) {
            throw InvalidArgumentError("\"message_id\" must have 1 to " + std::to_string(message_id_max) + " bytes");
        }
        return "user-" + id;
    }
    /// Returns the place of the user's message in the conversation, or none. A message whose id the conversation does
    /// not have is the user's last one, if that is equal.
    static std::optional<std::size_t> placeOf(const model::Message& message, const std::vector<model::Message>& known) {
        std::optional<std::size_t> last;
        for (std::size_t at = known.size(); at-- > 0;) {
            if (known[at].id == message.id) return at;
            const bool is_users = known[at].role == model::Role::user && !known[at].id.starts_with("repair-");
            if (!last && is_users) last = at;
        }
        if (last && known[*last].content == message.content) return last;
        return {};
    }
    Begin decide(const ThreadId& thread, const Value& body) const {
        if (!body.as<std::map<std::string, Value>>().contains("decisions")) {
            return begin(answerOf(thread, body));
        }
        // Ids that were used before are skipped, unless all were.
        Command<> answers;
        std::exception_ptr refused = std::make_exception_ptr(InvalidArgumentError("\"decisions\" is empty"));
        for (const Value& each : body.asStrict<Decisions>().decisions) {
            try {
                Command<> one = answerOf(thread, each);
                for (Answer& answer : one.answers) add(answers.answers, std::move(answer));
            } catch (const InvalidArgumentError&) {
                refused = std::current_exception();
            }
        }
        if (answers.answers.empty()) std::rethrow_exception(refused);
        return begin(std::move(answers));
    }
    /// A page shows a call twice if it was open in several responses, each with steps of its own, and decides about
    /// both at once. The last decision counts.
    static void add(std::vector<Answer>& answers, Answer&& answer) {
        std::erase_if(answers, [&](const Answer& each) { return each.interrupt_id == answer.interrupt_id; });
        answers.push_back(std::move(answer));
    }
    Command<> answerOf(const ThreadId& thread, const Value& answer) const {
        const auto given = answer.asStrict<Decide>();
        // A tool that gives nothing gives null.
        const bool is_null = !given.approved && answer.as<std::map<std::string, Value>>().contains("output");
        const bool has_output = is_null || !given.output.isNull();
        if (given.approved.has_value() == has_output) {
            throw InvalidArgumentError("give either \"approved\" or \"output\"");
        }
        if (given.approved)
            return agent_.decide(thread, given.call_id, {*given.approved, given.reason, given.arguments});
        return agent_.give(thread, given.call_id, {given.output, given.is_error});
    }

    agent::Agent agent_;
};

}  // namespace

std::shared_ptr<Endpoint> endpoint(const agent::Agent& agent, EndpointOptions options) {
    return std::make_shared<AgentEndpoint>(agent, std::move(options));
}

}  // namespace stategraph::serve
