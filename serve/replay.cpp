#include "serve/replay.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace stategraph::serve {

namespace {

// The most text in one part; a longer text becomes several parts, each a delta.
constexpr std::size_t text_bytes = 16U << 10U;
constexpr std::size_t part_bytes = 96;  // the size of a part in addition to its text
constexpr std::string_view text_end = "\"}";

struct Growing {
    std::string_view begins, member;
};
// A quote inside a value is escaped, so no value contains the member's name with its quotes.
constexpr std::array<Growing, 3> growing = {{{R"({"type":"text-delta",)", R"(,"delta":")"},
                                             {R"({"type":"reasoning-delta",)", R"(,"delta":")"},
                                             {R"({"type":"tool-input-delta",)", R"(,"inputTextDelta":")"}}};

/// Returns where the text of a delta begins, or 0 if the line is another part.
std::size_t textIn(std::string_view line) noexcept {
    for (const Growing& each : growing) {
        if (!line.starts_with(each.begins) || !line.ends_with(text_end)) continue;
        const std::size_t found = line.find(each.member);
        if (found != std::string_view::npos) return found + each.member.size();
    }
    return 0;
}

bool isTransient(std::string_view line) noexcept { return line.ends_with(R"(,"transient":true})"); }

}  // namespace

Replay::~Replay() { *all_ -= bytes_; }

bool Replay::grows(const std::string& head) const {
    return !parts_.empty() && parts_.back().head == head && parts_.back().text.size() < text_bytes;
}

bool Replay::makeRoom(std::size_t more) {
    if (bytes_ + more <= limits_.bytes && all_->fetch_add(more) + more <= limits_.bytes_of_all) {
        bytes_ += more;
        return true;
    }
    if (bytes_ + more <= limits_.bytes) *all_ -= more;
    return false;
}

void Replay::forgetTransient() {
    while (transient_.size() > limits_.transient_parts) {
        Part& old = parts_[transient_.front()];
        bytes_ -= old.head.size();
        *all_ -= old.head.size();
        old.head = {};
        transient_.pop_front();
    }
}

void Replay::add(const std::string& line) {
    const std::size_t begin = textIn(line);
    Part part;
    part.head = begin > 0 ? line.substr(0, begin) : line;
    if (begin > 0) part.text = line.substr(begin, line.size() - begin - text_end.size());
    if (begin > 0 && part.text.empty()) return;  // the part contains nothing
    part.is_delta = begin > 0;
    part.is_transient = isTransient(line);
    const stategraph::detail::LockGuard lock(mutex_);
    if (!takes()) return;
    const bool joins = begin > 0 && grows(part.head);
    const std::size_t more = part.text.size() + (joins ? 0 : part.head.size() + part_bytes);
    if (!makeRoom(more)) {
        state_ = State::too_long;
    } else if (joins) {
        parts_.back().text += part.text;
    } else {
        parts_.push_back(std::move(part));
        if (parts_.back().is_transient) transient_.push_back(parts_.size() - 1);
        forgetTransient();
    }
    wakeReaders();
}

void Replay::release() noexcept { change(State::held, State::held, State::open); }

void Replay::end(State state) noexcept { change(State::held, State::open, state); }

/// Changes the state if it is one of two states, and otherwise does nothing.
void Replay::change(State one, State other, State next) noexcept {
    const stategraph::detail::LockGuard lock(mutex_);
    if (state_ != one && state_ != other) return;
    state_ = next;
    wakeReaders();
}

void Replay::wakeReaders() noexcept {
    std::erase_if(readers_, [](const std::weak_ptr<Reader>& each) {
        const std::shared_ptr<Reader> reader = each.lock();
        if (reader) reader->wake();
        return !reader;
    });
}

Replay::Place Replay::join(const std::shared_ptr<Reader>& reader) {
    const stategraph::detail::LockGuard lock(mutex_);
    std::erase_if(readers_, [](const std::weak_ptr<Reader>& each) { return each.expired(); });
    readers_.push_back(reader);
    return {.first_transient = parts_.size()};
}

Replay::State Replay::read(Place& place, std::size_t bytes, std::vector<std::string>& lines) const {
    const stategraph::detail::LockGuard lock(mutex_);
    if (state_ == State::held) return State::held;
    std::size_t taken = 0;
    for (; place.part < parts_.size(); ++place.part, place.offset = 0) {
        if (taken >= bytes) return State::open;
        const Part& part = parts_[place.part];
        if (part.head.empty() || (part.is_transient && place.part < place.first_transient)) continue;
        if (!part.is_delta) {
            lines.push_back(part.head);
            taken += lines.back().size();
            continue;
        }
        if (place.offset < part.text.size()) {
            lines.push_back(part.head + part.text.substr(place.offset) + std::string(text_end));
            taken += lines.back().size();
            place.offset = part.text.size();
        }
        if (place.part + 1 == parts_.size()) break;  // the last part may still grow
    }
    return state_;
}

Replay::State Replay::state() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return state_;
}

const char* Replay::reasonOf(State state) noexcept {
    if (state == State::too_long) {
        return "the response is longer than the server keeps for clients that reconnect"
               " (ServerOptions::replay_bytes_max); load the conversation when the run has ended";
    }
    if (state == State::failed) {
        return "the server could not keep the response for clients that reconnect; load the conversation when the run"
               " has ended";
    }
    return nullptr;
}

std::size_t Replay::bytes() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return bytes_;
}

}  // namespace stategraph::serve
