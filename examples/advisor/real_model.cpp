#include "real_model.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

#ifdef ADVISOR_HAS_MODEL_HTTP
#include <stategraph/model/openai.hpp>
#endif

namespace advisor {

namespace {

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

}  // namespace

std::shared_ptr<const stategraph::model::Model> realModel() {
    const std::string url = environment("STATEGRAPH_MODEL_URL");
    if (url.empty()) return {};
    const std::string name = environment("STATEGRAPH_MODEL");
    if (name.empty())
        throw std::invalid_argument("STATEGRAPH_MODEL_URL is set and STATEGRAPH_MODEL is not: name the server's model");
#ifdef ADVISOR_HAS_MODEL_HTTP
    return stategraph::model::openai({.base_url = url, .api_key = environment("STATEGRAPH_API_KEY"), .model = name});
#else
    throw std::invalid_argument(
        "STATEGRAPH_MODEL_URL is set, and this program was built without models behind HTTP: "
        "configure with -DSTATEGRAPH_WITH_MODEL_HTTP=ON");
#endif
}

}  // namespace advisor
