#include <stategraph/json.hpp>
#include <stategraph/partial.hpp>

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

namespace sg = stategraph;
using sg::MemberProgress;

// The namespace has a name, because names of members are found only in types that have linkage.
namespace partial_test {

struct Source {
    std::string url = {};
    int rank = 0;
    static constexpr auto fields() { return sg::fields<&Source::url, &Source::rank>(); }
    friend bool operator==(const Source&, const Source&) = default;
};

struct Report {
    std::string title = {};
    int pages = 0;
    std::vector<Source> sources = {};
    std::optional<Source> best = {};
    std::string note = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("title", &Report::title), sg::field("pages", &Report::pages),
                          sg::field("sources", &Report::sources), sg::field("best", &Report::best),
                          sg::field("note", &Report::note, sg::formerly("remark"), sg::defaulted));
    }
    friend bool operator==(const Report&, const Report&) = default;
};

struct Named {
    std::string first = {};
    std::string second = {};
    static constexpr auto fields() { return sg::fields<&Named::first, &Named::second>(); }
};

}  // namespace partial_test

using partial_test::Named;
using partial_test::Report;
using partial_test::Source;

TEST_CASE("a partial struct says which members are complete, growing and absent") {
    sg::Partial<Report> report;
    CHECK((report.progress<&Report::title>() == MemberProgress::absent));
    report.feed(R"({"title":"On gra)");
    CHECK((report.progress<&Report::title>() == MemberProgress::growing));
    CHECK(report.text<&Report::title>() == "On gra");
    CHECK_FALSE(report.get<&Report::title>().has_value());
    report.feed(R"(phs","pages":1)");
    CHECK((report.progress<&Report::title>() == MemberProgress::complete));
    CHECK(report.get<&Report::title>() == "On graphs");
    CHECK((report.progress<&Report::pages>() == MemberProgress::growing));
    CHECK_FALSE(report.get<&Report::pages>().has_value());
    CHECK(report.text<&Report::pages>().empty());
    report.feed(R"(2,"sources":[{"url":"a","rank":1},{"url":"b)");
    CHECK(report.get<&Report::pages>() == 12);
    CHECK((report.progress<&Report::sources>() == MemberProgress::growing));
    CHECK(boost::json::serialize(*report.find<&Report::sources>()) == R"([{"url":"a","rank":1},{"url":"b"}])");
    CHECK((report.progress<&Report::best>() == MemberProgress::absent));
    CHECK(report.find<&Report::best>() == nullptr);
    CHECK_FALSE(report.complete().has_value());
    report.feed(R"(","rank":2}],"best":null)");
    CHECK(report.get<&Report::sources>() == std::vector<Source>{{"a", 1}, {"b", 2}});
    CHECK((report.progress<&Report::best>() == MemberProgress::complete));
    CHECK_FALSE(report.complete().has_value());
    report.feed("}");
    CHECK(report.complete() == Report{.title = "On graphs", .pages = 12, .sources = {{"a", 1}, {"b", 2}}});
}

TEST_CASE("a struct is complete only after a strict parse") {
    sg::Partial<Source> source;
    CHECK((source.feed(R"({"url":"a","rank":1)") == sg::PartialState::repaired_parse));
    CHECK_FALSE(source.complete().has_value());
    source.feed("} x");
    CHECK((source.state() == sg::PartialState::repaired_parse));
    CHECK_FALSE(source.complete().has_value());
    source.clear();
    CHECK((source.progress<&Source::url>() == MemberProgress::absent));
    source.feed(R"({"url":"a","rank":1} )");
    CHECK(source.complete() == Source{"a", 1});
}

TEST_CASE("whole JSON that is no such struct is refused with every fault, and so is a member of another type") {
    sg::Partial<Source> source;
    source.feed(R"({"urls":"a","rank":"first"})");
    CHECK((source.state() == sg::PartialState::successful_parse));
    CHECK_THROWS_WITH_AS(source.complete(), doctest::Contains("member 'urls' is unknown"), sg::WrongTypeError);
    CHECK_THROWS_WITH_AS(source.complete(), doctest::Contains("member 'url' is missing"), sg::WrongTypeError);
    CHECK_THROWS_AS(source.get<&Source::rank>(), sg::WrongTypeError);
    CHECK_FALSE(source.get<&Source::url>().has_value());

    sg::Partial<Source> list;
    list.feed("[1]");
    CHECK((list.progress<&Source::url>() == MemberProgress::absent));
    CHECK_THROWS_AS(list.complete(), sg::WrongTypeError);
}

TEST_CASE("members are found under former names and in tables without pointers") {
    sg::Partial<Report> report;
    report.feed(R"({"remark":"ol)");
    CHECK(report.text<&Report::note>() == "ol");
    report.feed(R"(d","note":"ne)");
    CHECK(report.text<&Report::note>() == "ne");

    sg::Partial<Named> named;
    named.feed(R"({"second":"b)");
    CHECK(named.text<&Named::second>() == "b");
    CHECK((named.progress<&Named::first>() == MemberProgress::absent));
}

TEST_CASE("a struct that a model wraps in a fence is complete when it is closed") {
    sg::Partial<Source> source({.clean = true});
    source.feed("Sure!\n```json\n{\"url\":\"a\",\"rank\":1");
    CHECK_FALSE(source.complete().has_value());
    source.feed("}\n```");
    CHECK(source.complete() == Source{"a", 1});
}
