#pragma once
#include <string>

namespace stategraph::detail {

/// The inside of a JSON string that arrives in pieces, decoded to UTF-8. An unfinished escape, the first half of a
/// surrogate pair and an unfinished character are held back. A half that stays alone is U+FFFD.
class PartialText {
public:
    /// A fault in a key does not stop the reading, because the key is not shown yet and may be dropped. The end of the
    /// key is found as if the faulty escape were ordinary characters. A fault in a value stops the reading.
    enum class Role { key, value };

    /// Forgets everything. With `raw_breaks`, line breaks and tabs need no escape.
    void begin(Role role, bool raw_breaks);
    /// Reads up to the closing quote, to a fault in a value, or to `end`, and returns where it stopped. It does not
    /// read the quote. Cost: linear.
    const char* read(const char* at, const char* end);

    /// Returns what was decoded since `begin` or `drop`. What was read bounds its size.
    const std::string& decoded() const noexcept { return decoded_; }
    void drop() noexcept { decoded_.clear(); }
    /// Returns whether the string has a fault that no continuation can repair.
    bool isWrong() const noexcept { return wrong_; }
    /// Ends the string before its closing quote. Returns false if it has a fault; the half of a surrogate pair is none.
    bool end();

private:
    /// Returns whether a part of a character is held back.
    bool holdsBack() const noexcept { return left_ != 0 || high_ != 0; }
    void endHalf();
    enum class Place { plain, escape, unit };
    const char* readPlain(const char* at, const char* end);
    void readAscii(char c);
    void readLead(unsigned char byte);
    void readTail(unsigned char byte);
    void readEscape(char c);
    bool readDigit(char c);
    void endUnit();
    void append(unsigned code_point);

    std::string decoded_;
    std::string character_;  // the bytes of an unfinished character
    int left_ = 0;           // the number of bytes that it still needs
    unsigned char next_min_ = 0;
    unsigned char next_max_ = 0;  // the next byte must be between these two
    Place place_ = Place::plain;
    unsigned unit_ = 0;  // the value of the digits of \uXXXX so far
    int digits_ = 0;     // the number of these digits
    unsigned high_ = 0;  // the first half of a surrogate pair
    Role role_ = Role::key;
    bool raw_breaks_ = false;
    bool wrong_unit_ = false;
    bool wrong_ = false;
};

}  // namespace stategraph::detail
