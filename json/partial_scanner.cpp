#include "json/partial_scanner.hpp"

#include <utility>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

namespace stategraph::detail {
namespace {

namespace json = boost::json;

bool isBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

PartialScanner::PartialScanner(const PartialJsonOptions& options) : options_(options), expects_{Expect::root} {
    if (options.bytes_max == 0) throw InvalidArgumentError("PartialJsonOptions::bytes_max is 0; give at least 1");
    if (options.depth_max < 1 || options.depth_max > value_depth_max) {
        throw InvalidArgumentError("PartialJsonOptions::depth_max is " + std::to_string(options.depth_max) +
                                   "; give 1 to " + std::to_string(value_depth_max));
    }
}

void PartialScanner::feed(std::string_view chunk) {
    fed_ = true;
    if (!limit_.empty()) throw InvalidArgumentError(limit_);
    if (chunk.size() > options_.bytes_max - bytes_) {
        fail("is longer than " + std::to_string(options_.bytes_max) + " bytes; raise PartialJsonOptions::bytes_max");
    }
    bytes_ += chunk.size();
    if (broken_) return;
    try {
        scan(chunk.data(), chunk.data() + chunk.size());
    } catch (...) {
        broken_ = true;
        throw;
    }
}

void PartialScanner::scan(const char* at, const char* end) {
    if (options_.clean && expects_.back() == Expect::root) at = lead_.skip(at, end);
    while (at != end && !broken_) {
        const char* const next = scanOne(at, end);
        work_ += static_cast<std::uint64_t>(next - at) + 1;
        at = next;
    }
    settle();
}

void PartialScanner::fail(std::string why) {
    broken_ = true;
    limit_ = "the partial JSON text " + std::move(why);
    throw InvalidArgumentError(limit_);
}

const char* PartialScanner::scanOne(const char* at, const char* end) {
    switch (leaf_) {
        case Leaf::text:
            return scanText(at, end);
        case Leaf::number:
            scanNumber(*at);
            break;
        case Leaf::word:
            scanWord(*at);
            break;
        case Leaf::none:
            if (expects_.back() == Expect::key_end) return scanKey(at, end);
            scanBetween(*at);
    }
    return at + 1;
}

const char* PartialScanner::scanText(const char* at, const char* end) {
    at = text_.read(at, end);
    if (text_.isWrong()) {
        broken_ = true;
    } else if (at != end) {
        ++at;  // the closing quote
        if (!text_.end()) broken_ = true;
        settle();
        leaf_ = Leaf::none;
        tree_.closeLeaf();
    }
    return at;
}

const char* PartialScanner::scanKey(const char* at, const char* end) {
    at = text_.read(at, end);
    if (at == end) return at;
    if (!text_.end()) passed_over_ = true;
    tree_.setKey(text_.decoded());
    work_ += text_.decoded().size();
    expects_.back() = Expect::colon;
    return at + 1;
}

void PartialScanner::scanNumber(char c) {
    if (!number_.takes(c)) {
        if (!number_.isWhole()) passed_over_ = true;
        settle();
        leaf_ = Leaf::none;
        tree_.closeLeaf();
        return endScalar(c);
    }
    if (number_.size() == partial_number_bytes_max) {
        fail("has a number that is longer than " + std::to_string(partial_number_bytes_max) + " bytes, at byte " +
             std::to_string(bytes_) + " at the latest");
    }
    const bool is_number = number_.append(c);
    if (!isDigit(c)) return;
    if (!is_number) broken_ = true;
    keep();
    if (!broken_) number_is_new_ = true;
}

void PartialScanner::scanWord(char c) {
    if (word_size_ < word_.size() && word_[word_size_] == c) {
        ++word_size_;
        return;
    }
    if (word_size_ < word_.size()) broken_ = true;
    leaf_ = Leaf::none;
    tree_.closeLeaf();
    endScalar(c);
}

// Ends a number or a word before `c`, which may belong to the container.
void PartialScanner::endScalar(char c) {
    const Expect expect = expects_.back();
    const bool is_containers = (expect == Expect::after_member && (c == ',' || c == '}')) ||
                               (expect == Expect::after_item && (c == ',' || c == ']'));
    if (is_containers) {
        scanBetween(c);
    } else {
        passOver(c);
    }
}

void PartialScanner::scanBetween(char c) {
    Expect& expect = expects_.back();
    switch (expect) {
        case Expect::root:
        case Expect::member:
        case Expect::item:
            return beginValue(c);
        case Expect::first_item:
            return c == ']' ? closeContainer() : beginValue(c);
        case Expect::after_item:
            return scanAfterItem(c);
        case Expect::first_key:
        case Expect::key:
            if (c == '"') return beginKey();
            if (c == '}' && expect == Expect::first_key) return closeContainer();
            break;
        case Expect::colon:
            if (c != ':') break;
            expect = Expect::member;
            return;
        case Expect::after_member:
            if (c == '}') return closeContainer();
            if (c != ',') break;
            expect = Expect::key;
            return;
        case Expect::key_end:
        case Expect::end:
            break;
    }
    passOver(c);
}

// After an item everything except a comma is kept, so that items without commas break the text.
void PartialScanner::scanAfterItem(char c) {
    if (c == ']') return closeContainer();
    if (c == ',') {
        expects_.back() = Expect::item;
        return;
    }
    passOver(c);
    const bool begins_character = (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    if (begins_character) keep();
}

void PartialScanner::beginKey() {
    text_.begin(PartialText::Role::key, options_.clean);
    expects_.back() = Expect::key_end;
}

void PartialScanner::beginValue(char c) {
    switch (c) {
        case '{':
            return beginContainer(json::object(), Expect::first_key);
        case '[':
            return beginContainer(json::array(), Expect::first_item);
        case 't':
        case 'f':
        case 'n':
            return beginWord(c);
        case '"':
            break;
        default:
            if (c == '-' || isDigit(c)) return beginNumber(c);
            return passOver(c);
    }
    keep();
    if (broken_) return;
    expectAfterValue();
    tree_.open(json::string());
    text_.begin(PartialText::Role::value, options_.clean);
    leaf_ = Leaf::text;
}

// The container continues when the value that begins now has ended.
void PartialScanner::expectAfterValue() {
    Expect& expect = expects_.back();
    expect = expect == Expect::root     ? Expect::end
             : expect == Expect::member ? Expect::after_member
                                        : Expect::after_item;
}

void PartialScanner::beginContainer(json::value empty, Expect first) {
    keep();
    if (broken_) return;
    if (tree_.depth() == static_cast<std::size_t>(options_.depth_max)) {
        fail("is nested deeper than " + std::to_string(options_.depth_max) + " levels (PartialJsonOptions::depth_max)");
    }
    expectAfterValue();
    tree_.open(std::move(empty));
    expects_.push_back(first);
}

void PartialScanner::beginWord(char c) {
    keep();
    if (broken_) return;
    expectAfterValue();
    word_ = c == 't' ? "true" : c == 'f' ? "false" : "null";
    word_size_ = 1;
    tree_.open(c == 'n' ? json::value(nullptr) : json::value(c == 't'));
    leaf_ = Leaf::word;
}

// A minus is held back until a digit follows.
void PartialScanner::beginNumber(char c) {
    if (isDigit(c)) keep();
    if (broken_) return;
    expectAfterValue();
    number_.begin(c);
    number_is_shown_ = false;
    number_is_new_ = isDigit(c);
    leaf_ = Leaf::number;
}

void PartialScanner::closeContainer() {
    keep();
    expects_.pop_back();
    tree_.closeContainer();
}

void PartialScanner::keep() {
    if (passed_over_) broken_ = true;
}

void PartialScanner::passOver(char c) {
    if (isBlank(c) || (options_.clean && expects_.back() == Expect::end)) return;
    passed_over_ = true;
}

// Updates the value with what was read.
void PartialScanner::settle() {
    if (leaf_ == Leaf::text) {
        work_ += text_.decoded().size();
        tree_.leaf()->get_string().append(text_.decoded());
        text_.drop();
    } else if (leaf_ == Leaf::number && number_is_new_) {
        work_ += number_.size();
        if (number_is_shown_) {
            *tree_.leaf() = number_.value();
        } else {
            tree_.open(number_.value());
        }
        number_is_shown_ = true;
        number_is_new_ = false;
    }
}

bool PartialScanner::isWhole() const noexcept {
    if (passed_over_ || expects_.back() != Expect::end) return false;
    switch (leaf_) {
        case Leaf::none:
            return true;
        case Leaf::text:
            return false;
        case Leaf::number:
            return number_.isWhole();
        case Leaf::word:
            return word_size_ == word_.size();
    }
    return false;
}

PartialState PartialScanner::state() const noexcept {
    if (!fed_) return PartialState::undefined_input;
    if (broken_ || !tree_.hasRoot() || tree_.hasRefusedKey()) return PartialState::failed_parse;
    return isWhole() ? PartialState::successful_parse : PartialState::repaired_parse;
}

bool PartialScanner::isOpen(const json::value& part) const noexcept {
    if (broken_ || (leaf_ == Leaf::word && word_size_ == word_.size() && tree_.isLeaf(part))) return false;
    return tree_.isOpen(part);
}

}  // namespace stategraph::detail
