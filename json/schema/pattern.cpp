#include "json/schema/pattern.hpp"

#include <utility>

#include <re2/re2.h>

#include <stategraph/error.hpp>

namespace stategraph::schema {
namespace {

constexpr std::size_t size_max = 1024;
constexpr std::size_t instructions_of_work = 32;

std::unique_ptr<re2::RE2> compiled(std::string_view text, std::int64_t memory) {
    if (text.size() > size_max) {
        throw InvalidArgumentError("a pattern has " + std::to_string(text.size()) + " bytes, and may have " +
                                   std::to_string(size_max));
    }
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(memory);
    auto expression = std::make_unique<re2::RE2>(asRe2(text), options);
    if (!expression->ok()) {
        throw InvalidArgumentError("the pattern '" + std::string(text) +
                                   "' is not a regular expression that can be used: " + expression->error());
    }
    return expression;
}

}  // namespace

Pattern::Pattern(std::string_view text, std::int64_t memory) : compiled_(compiled(text, memory)) {
    work_ += static_cast<std::size_t>(compiled_->ProgramSize()) / instructions_of_work;
}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

bool Pattern::isIn(std::string_view text) const {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

}  // namespace stategraph::schema
