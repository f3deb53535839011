// NOT WITH: sanitize
// A wrapper that forgets a call answers with the default of the base class, and nobody notices.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <doctest/doctest.h>

namespace {

/// The names that match in the declaration of a class.
std::set<std::string> namesIn(const std::string& header, const std::string& of_class, const std::regex& declaration) {
    std::ifstream file(std::filesystem::path(STATEGRAPH_TESTS_DIR).parent_path() / "include/stategraph" / header);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto begin = text.find("class " + of_class + " ");
    REQUIRE(begin != std::string::npos);
    const std::string body = text.substr(begin, text.find("\n};", begin) - begin);
    std::set<std::string> names;
    for (std::sregex_iterator at(body.begin(), body.end(), declaration), end; at != end; ++at) names.insert((*at)[1]);
    return names;
}

void checkForwards(const std::string& base, const std::string& header, const std::string& wrapper,
                   const std::string& its_header, std::size_t least) {
    CAPTURE(wrapper);
    const auto virtuals = namesIn(header, base, std::regex(R"(\n    virtual [^;{}~]*?(\w+)\()"));
    CHECK(virtuals.size() >= least);
    CHECK(virtuals == namesIn(its_header, wrapper, std::regex(R"( (\w+)\([^;]*override;)")));
}

}  // namespace

TEST_CASE("what passes calls on passes each on that a saver or a store can define") {
    checkForwards("BaseCheckpointSaver", "saver.hpp", "ForwardingSaver", "forwarding_saver.hpp", 20);
    checkForwards("BaseStore", "store.hpp", "ForwardingStore", "forwarding_store.hpp", 2);
}
