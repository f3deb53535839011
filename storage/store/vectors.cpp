#include "storage/store/vectors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <stategraph/error.hpp>

namespace stategraph::stores {

void checkIndex(const IndexConfig& index) {
    if (index.dims < 1 || index.dims > store_limits::dims_max) {
        throw InvalidArgumentError("the index has dims " + std::to_string(index.dims) +
                                   "; give it the size of the vectors, 1 to " + std::to_string(store_limits::dims_max));
    }
    if (!index.embed)
        throw InvalidArgumentError("the index has no embed function; give it one that turns texts into vectors");
    for (const std::string& path : index.fields) (void)parsePath(path);
}

namespace {

// Four sums are used, so that none waits for the one before. They are always added in one order, so that a score is the
// same everywhere.
struct Products {
    double with_query = 0;
    double with_itself = 0;
};

Products multiply(std::span<const float> query, std::span<const float> vector) {
    constexpr std::size_t lanes = 4;
    std::array<double, lanes> with_query{};
    std::array<double, lanes> with_itself{};
    std::size_t i = 0;
    for (; i + lanes <= query.size(); i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double x = query[i + lane];
            const double y = vector[i + lane];
            with_query[lane] += x * y;
            with_itself[lane] += y * y;
        }
    }
    for (; i < query.size(); ++i) {
        const double y = vector[i];
        with_query[0] += query[i] * y;
        with_itself[0] += y * y;
    }
    return {(with_query[0] + with_query[1]) + (with_query[2] + with_query[3]),
            (with_itself[0] + with_itself[1]) + (with_itself[2] + with_itself[3])};
}

}  // namespace

Query::Query(std::span<const float> vector)
    : vector_(vector), length_(std::sqrt(multiply(vector, vector).with_itself)) {}

double Query::bestCosine(std::span<const float> vectors) const {
    double best = -1;
    for (; vectors.size() >= vector_.size() && !vector_.empty(); vectors = vectors.subspan(vector_.size())) {
        const Products products = multiply(vector_, vectors.first(vector_.size()));
        const double lengths = length_ * std::sqrt(products.with_itself);
        best = std::max(best, lengths > 0 ? std::clamp(products.with_query / lengths, -1.0, 1.0) : 0.0);
    }
    return best;
}

std::size_t Embedding::addItem(const Value& value, const std::vector<TextPath>& paths) {
    begins_.push_back(texts_.size());
    std::vector<std::string> found;
    for (const TextPath& path : paths) collectTexts(path, value, store_limits::vectors_max, found);
    if (found.size() > store_limits::vectors_max) {
        throw InvalidArgumentError("an item has more than " + std::to_string(store_limits::vectors_max) +
                                   " texts to embed; put it with an index of fewer paths");
    }
    std::move(found.begin(), found.end(), std::back_inserter(texts_));
    return begins_.size() - 1;
}

std::size_t Embedding::addQuery(const std::string& text) {
    begins_.push_back(texts_.size());
    texts_.push_back(text);
    return begins_.size() - 1;
}

void Embedding::embed() {
    if (texts_.empty()) return;
    const auto made = index_->embed(texts_);
    if (made.size() != texts_.size()) {
        throw InvalidArgumentError("the index's embed function returned " + std::to_string(made.size()) +
                                   " vectors for " + std::to_string(texts_.size()) +
                                   " texts; it must return one for each");
    }
    floats_.reserve(made.size() * index_->dims);
    for (const auto& vector : made) {
        if (vector.size() != index_->dims) {
            throw InvalidArgumentError("the index's embed function returned a vector of " +
                                       std::to_string(vector.size()) + " numbers, and the index has dims " +
                                       std::to_string(index_->dims));
        }
        for (const float number : vector) {
            if (!std::isfinite(number)) {
                throw InvalidArgumentError(
                    "the index's embed function returned a vector with a number that is not finite");
            }
        }
        floats_.insert(floats_.end(), vector.begin(), vector.end());
    }
}

std::span<const float> Embedding::vectors(std::size_t place) const {
    const std::size_t begin = begins_[place];
    const std::size_t end = place + 1 < begins_.size() ? begins_[place + 1] : texts_.size();
    if (begin == end) return {};
    return std::span(floats_).subspan(begin * index_->dims, (end - begin) * index_->dims);
}

}  // namespace stategraph::stores
