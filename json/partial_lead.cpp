#include "json/partial_lead.hpp"

namespace stategraph::detail {

const char* PartialLead::skip(const char* at, const char* end) {
    while (place_ != Place::over && at != end && !begins(*at)) ++at;
    return at;
}

bool PartialLead::begins(char c) {
    if (c == '{' || (c == '[' && (place_ == Place::start || place_ == Place::language))) {
        place_ = Place::over;
        return true;
    }
    const bool is_blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (place_ == Place::language) {
        if (c == '\n') place_ = Place::start;
    } else if (c == '`') {
        ticks_ = place_ == Place::fence ? ticks_ + 1 : 1;
        place_ = ticks_ == 3 ? Place::language : Place::fence;
    } else if (place_ != Place::start || !is_blank) {
        place_ = Place::sentence;
    }
    return false;
}

}  // namespace stategraph::detail
