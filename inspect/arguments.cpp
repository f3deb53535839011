#include "inspect/arguments.hpp"

#include <algorithm>
#include <charconv>

#include "src/graph/names.hpp"

namespace stategraph::inspect {
namespace {

bool isOneOf(std::string_view word, const std::vector<std::string_view>& words) {
    return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::string adviceOn(std::string_view wrong, std::vector<std::string_view> known) {
    const auto closest = engine::closestName(wrong, known);
    return closest ? "did you mean " + engine::inQuotes(*closest) + "? " : "";
}

Arguments::Arguments(std::span<const std::string> words, const Accepts& accepts, std::string_view command) {
    std::vector<std::string_view> flags = accepts.flags;
    flags.insert(flags.end(), {"--json", "--help"});
    std::vector<std::string_view> values = accepts.values;
    values.emplace_back("--store");
    bool only_places = false;  // set after "--", for threads whose names begin with a hyphen
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (only_places || !word.starts_with("--")) {
            places_.push_back(word);
            continue;
        }
        if (word == "--") {
            only_places = true;
            continue;
        }
        const std::size_t equals = word.find('=');
        const std::string name = word.substr(0, equals);
        if (isOneOf(name, flags) && equals == std::string::npos) {
            given_[name];
        } else if (name == "--ns" && !isOneOf(name, values)) {
            throw UsageError{"this command takes whole threads, with the logs of their subgraphs: leave out --ns"};
        } else if (isOneOf(name, flags)) {
            throw UsageError{"the option " + name + " takes no value: leave out '" + word.substr(equals) + "'"};
        } else if (!isOneOf(name, values)) {
            std::vector<std::string_view> all = flags;
            all.insert(all.end(), values.begin(), values.end());
            throw UsageError{"'" + std::string(command) + "' has no option " + name + ": " + adviceOn(name, all) +
                             "'stategraph help " + std::string(command) + "' lists them"};
        } else if (equals != std::string::npos) {
            given_[name].push_back(word.substr(equals + 1));
        } else if (i + 1 < words.size()) {
            given_[name].push_back(words[++i]);
        } else {
            throw UsageError{"the option " + name + " needs a value after it"};
        }
    }
    if (has("--help")) return;
    if (places_.size() < accepts.places_min)
        throw UsageError{"an argument is missing: see 'stategraph help " + std::string(command) + "'"};
    if (places_.size() > accepts.places_max)
        throw UsageError{"'" + places_[accepts.places_max] + "' is one argument too many" +
                         (accepts.place_is_store ? "" : "; the store is named by --store or STATEGRAPH_STORE")};
    if (accepts.place_is_store && !places_.empty() && !given_.emplace("--store", std::vector{places_.front()}).second)
        throw UsageError{"the database is named twice: '" + places_.front() + "' and by --store"};
}

std::optional<std::string> Arguments::value(std::string_view option) const {
    const auto found = given_.find(option);
    return found == given_.end() || found->second.empty() ? std::nullopt : std::optional(found->second.back());
}

std::vector<std::string> Arguments::values(std::string_view option) const {
    const auto found = given_.find(option);
    return found == given_.end() ? std::vector<std::string>() : found->second;
}

std::size_t Arguments::number(std::string_view option, std::size_t otherwise, std::size_t least) const {
    const auto text = value(option);
    if (!text) return otherwise;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error != std::errc() || end != text->data() + text->size() || number < least) {
        throw UsageError{std::string(option) + " takes a whole number of at least " + std::to_string(least) +
                         ", not '" + *text + "'"};
    }
    return number;
}

std::optional<std::chrono::seconds> Arguments::age(std::string_view option) const {
    const auto text = value(option);
    if (!text) return {};
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    const std::string_view unit(end, static_cast<std::size_t>(text->data() + text->size() - end));
    const std::int64_t seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : unit == "d" ? 86'400 : 0;
    constexpr std::int64_t century = 36'525LL * 86'400;
    if (error != std::errc() || number < 0 || seconds == 0 || number > century / seconds) {
        throw UsageError{std::string(option) + " takes a number and a unit, as 90s, 15m, 1h or 2d, not '" + *text +
                         "'"};
    }
    return std::chrono::seconds(number * seconds);
}

}  // namespace stategraph::inspect
