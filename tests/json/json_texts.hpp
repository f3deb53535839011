#pragma once
#include <string>

#include "tests/checkpoint/bytes.hpp"

// Random JSON texts with blanks and escapes as people and models write them. No object has two equal keys.
namespace json_texts {

class Writer {
public:
    explicit Writer(bytes::Random& random) : random_(random) {}

    std::string document() {
        out_.clear();
        blank();
        value(0);
        blank();
        return out_;
    }

private:
    void blank() {
        while (random_.chance(6)) out_ += " \n\t\r"[random_.below(4)];
    }
    void value(int depth) {
        switch (random_.below(depth < 5 ? 10 : 6)) {
            case 0:
                out_ += pick({"true", "false", "null"});
                break;
            case 1:
            case 2:
                number();
                break;
            case 3:
            case 4:
            case 5:
                text();
                break;
            case 6:
            case 7:
                array(depth);
                break;
            default:
                object(depth);
        }
    }
    void array(int depth) {
        out_ += '[';
        for (std::size_t left = random_.below(5); left > 0; --left) {
            blank();
            value(depth + 1);
            blank();
            if (left > 1) out_ += ',';
        }
        out_ += ']';
    }
    void object(int depth) {
        out_ += '{';
        for (std::size_t left = random_.below(5); left > 0; --left) {
            blank();
            text(std::to_string(left));
            blank();
            out_ += ':';
            blank();
            value(depth + 1);
            blank();
            if (left > 1) out_ += ',';
        }
        out_ += '}';
    }
    void number() {
        if (random_.chance(3)) out_ += '-';
        out_ += std::to_string(random_.number());
        if (random_.chance(3)) out_ += '.' + std::to_string(random_.below(100'000));
        if (random_.chance(4)) out_ += pick({"e", "E", "e+", "E-"}) + std::to_string(random_.below(30));
    }
    void text(const std::string& begin = {}) {
        out_ += '"' + begin;
        for (std::size_t left = random_.below(9); left > 0; --left) {
            out_ += pick({"a",
                          "b c",
                          "\xc3\xa9",
                          "\xe6\x97\xa5",
                          "\xf0\x9f\x98\x80",
                          "\\\"",
                          "\\\\",
                          "\\/",
                          "\\n",
                          "\\u0041",
                          "\\u00e9",
                          "\\u65E5",
                          "\\ud83d\\ude00",
                          "\\ud83d",
                          "\\ude00",
                          "{",
                          "}",
                          "[",
                          "]",
                          ",",
                          ":",
                          "-",
                          "\x7f"});
        }
        out_ += '"';
    }
    std::string pick(std::initializer_list<const char*> texts) { return texts.begin()[random_.below(texts.size())]; }

    bytes::Random& random_;
    std::string out_;
};

}  // namespace json_texts
