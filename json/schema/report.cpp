#include "json/schema/report.hpp"

#include <algorithm>

#include "json/schema/keywords.hpp"

namespace stategraph::schema {
namespace {

constexpr std::size_t faults_max = 20;

}  // namespace

std::string Place::text() const {
    std::vector<const Place*> way;
    for (const Place* place = this; place->around != nullptr; place = place->around) way.push_back(place);
    std::string text = "$";
    std::for_each(way.rbegin(), way.rend(), [&](const Place* place) {
        text += "[" + (place->index == no_index ? shownText(place->name) : std::to_string(place->index)) + "]";
    });
    return text;
}

void Report::add(const Place& place, const std::string& fault) {
    if (faults_.size() < (is_brief_ ? 1 : faults_max)) {
        faults_.push_back(place.text() + ": " + fault);
    } else {
        ++more_;
    }
}

std::string Report::text() const {
    std::string text;
    for (const std::string& fault : faults_) text += (text.empty() ? "" : "; ") + fault;
    if (more_ > 0) text += "; and " + std::to_string(more_) + " more";
    return text;
}

}  // namespace stategraph::schema
