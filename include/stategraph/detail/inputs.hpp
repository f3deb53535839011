#pragma once
#include <array>
#include <concepts>
#include <utility>

#include <stategraph/command.hpp>
#include <stategraph/detail/core.hpp>

// Converts the inputs that users give to a run into those of the engine, and parts of a state by name.
namespace stategraph::detail {

template <std::size_t... I, class... Entry>
constexpr auto typesOf(const PackOf<std::index_sequence<I...>, Entry...>&) {
    return std::array<TypeKey, sizeof...(Entry)>{typeKey<typename Entry::Type>()...};
}

template <class P, class S>
consteval bool isPartOf() {
    constexpr auto part_names = namesOf(channels_of<P>.entries);
    constexpr auto part_types = typesOf(channels_of<P>.entries);
    constexpr auto names = namesOf(channels_of<S>.entries);
    constexpr auto types = typesOf(channels_of<S>.entries);
    for (std::size_t i = 0; i < part_names.size(); ++i) {
        bool found = false;
        for (std::size_t j = 0; j < names.size(); ++j) {
            found = found || (names[j] == part_names[i] && types[j] == part_types[i]);
        }
        if (!found) return false;
    }
    return true;
}

template <class P, class S>
consteval void checkPart() {
    checkState<P>();
    if constexpr (!std::is_same_v<P, S> && ChannelState<P> && ChannelState<S>) {
        static_assert(
            isPartOf<P, S>(),
            "stategraph: each channel of this part must be a channel of the state, with the same name and type");
    }
}

/// Copies the channels that two states share by name.
template <class To, class From>
To projectChannels(const From& from) {
    checkPart<To, From>();
    To to{};
    const Schema& to_schema = schemaOf<To>();
    const Schema& from_schema = schemaOf<From>();
    for (const ChannelSpec& channel : to_schema.channels()) {
        const ChannelSpec* source = from_schema.find(channel.name);
        channel.behaviour->copy(to_schema.value(&to, channel),
                                from_schema.value(static_cast<const void*>(&from), *source));
    }
    return to;
}

/// Converts writes to a part of the state to writes to the state.
template <class S, class P>
Writes widen(Update<P>&& update) {
    if constexpr (!std::is_same_v<S, P>) {
        const Schema& part = schemaOf<P>();
        const Schema& whole = schemaOf<S>();
        for (Op& op : update) op.channel = whole.find(part.channel(op.channel).name)->index;
    }
    return std::move(update);
}

template <class S, class P>
RunInput inputOf(Update<P>&& update) {
    RunInput input;
    input.writes = widen<S>(std::move(update));
    return input;
}

template <class S, class C>
RunInput commandOf(Command<C>&& command) {
    static_assert(std::same_as<C, S> || std::same_as<C, NoState>,
                  "stategraph: a Command's update must be of the graph's state");
    RunInput input;
    input.kind = RunInput::Kind::command;
    input.writes = std::move(static_cast<Writes&>(command.update));
    if (!command.resume.isNull()) input.answer = std::move(command.resume);
    input.has_answers = input.answer.has_value() || command.answers.areGiven();
    input.answers = std::move(command.answers);
    input.go_to.assign(command.go_to.begin(), command.go_to.end());
    input.to_parent = command.graph == CommandGraph::parent;
    return input;
}

template <class S, class In, class T>
RunInput toRunInput(T&& given) {
    using Given = std::remove_cvref_t<T>;
    if constexpr (std::same_as<Given, ResumeTag>) {
        RunInput input;
        input.kind = RunInput::Kind::resume;
        return input;
    } else if constexpr (is_command<Given>) {
        return commandOf<S>(std::forward<T>(given));
    } else {
        static_assert(std::same_as<Given, Update<In>>,
                      "stategraph: a run takes an sg::Update, an sg::Command or sg::RESUME");
        return inputOf<S>(std::forward<T>(given));
    }
}

}  // namespace stategraph::detail
