#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include <stategraph/partial_json.hpp>

#include "json/partial_lead.hpp"
#include "json/partial_number.hpp"
#include "json/partial_text.hpp"
#include "json/partial_tree.hpp"

namespace stategraph::detail {

/// The state machine of PartialJson. The rules are those of a repair that cuts a text after its last sound character
/// and closes what is open: a character is *kept* if the repaired text contains it.
///
/// A character that JSON does not allow is skipped. It is harmless as long as nothing after it is kept; then the
/// repaired text would contain it, and the text is broken for good. So the state is known after each character.
class PartialScanner {
public:
    explicit PartialScanner(const PartialJsonOptions& options);

    /// Works like PartialJson::feed.
    void feed(std::string_view chunk);

    PartialState state() const noexcept;
    const PartialTree& tree() const noexcept { return tree_; }
    bool isOpen(const boost::json::value& part) const noexcept;
    std::size_t bytes() const noexcept { return bytes_; }
    const PartialJsonOptions& options() const noexcept { return options_; }
    /// Returns how many bytes were looked at or copied, for tests of growth.
    std::uint64_t work() const noexcept { return work_; }

private:
    /// What the innermost container expects next.
    enum class Expect : std::uint8_t {
        root,
        end,
        first_key,
        key,
        key_end,
        colon,
        member,
        after_member,
        first_item,
        item,
        after_item
    };
    enum class Leaf : std::uint8_t { none, text, number, word };

    void scan(const char* at, const char* end);
    const char* scanOne(const char* at, const char* end);
    const char* scanText(const char* at, const char* end);
    const char* scanKey(const char* at, const char* end);
    void scanNumber(char c);
    void scanWord(char c);
    void scanBetween(char c);
    void scanAfterItem(char c);
    void beginValue(char c);
    void beginContainer(boost::json::value empty, Expect first);
    void beginWord(char c);
    void beginNumber(char c);
    void endScalar(char c);
    void expectAfterValue();
    void closeContainer();
    void beginKey();

    void keep();
    void passOver(char c);
    void settle();
    bool isWhole() const noexcept;
    [[noreturn]] void fail(std::string why);

    PartialJsonOptions options_;
    PartialTree tree_;
    PartialLead lead_;
    PartialText text_;
    PartialNumber number_;
    std::string_view word_;
    std::size_t word_size_ = 0;    // how much of the word has been read
    std::vector<Expect> expects_;  // one for the root and one for each open container
    Leaf leaf_ = Leaf::none;
    bool fed_ = false;
    bool passed_over_ = false;  // whether something that is not JSON was skipped
    bool broken_ = false;       // whether something after it was kept
    bool number_is_shown_ = false;
    bool number_is_new_ = false;  // whether it has digits that its value does not have yet
    std::size_t bytes_ = 0;
    std::uint64_t work_ = 0;
    std::string limit_;  // the error of a limit that was exceeded
};

}  // namespace stategraph::detail
