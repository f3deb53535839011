// The grammar of records is a comment where they are written (src/checkpoint/record.hpp), and docs/checkpoint_format.md
// explains it. Both name the keys that are written, and no others.
// NOT WITH: sanitize=thread
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/encoding.hpp>
#include <stategraph/status.hpp>

#include "src/checkpoint/outlook.hpp"
#include "src/checkpoint/paths.hpp"
#include "src/checkpoint/record.hpp"
#include "src/checkpoint/record_frame.hpp"

namespace cp = stategraph::checkpoint;
using stategraph::CheckpointId;
using stategraph::Decoder;
using Keys = std::set<std::string>;

namespace {

const CheckpointId id("00000000-0000-7000-8000-000000000001");
const CheckpointId other("00000000-0000-7000-8000-000000000000");

std::string textOf(const char* file) {
    std::ifstream in(std::filesystem::path(STATEGRAPH_TESTS_DIR).parent_path() / file);
    REQUIRE(in);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the text between two texts, which must exist.
std::string between(const std::string& text, std::string_view from, std::string_view to) {
    const std::size_t begin = text.find(from);
    REQUIRE(begin != std::string::npos);
    const std::size_t end = text.find(to, begin + from.size());
    REQUIRE(end != std::string::npos);
    return text.substr(begin + from.size(), end - begin - from.size());
}

Keys matches(const std::string& text, const std::regex& key) {
    Keys found;
    for (std::sregex_iterator at(text.begin(), text.end(), key), end; at != end; ++at) found.insert((*at)[1]);
    return found;
}

/// Returns the keys of the map at which `in` is.
Keys keysOf(Decoder& in) {
    Keys keys;
    for (std::size_t left = in.map(); left > 0; --left) {
        keys.emplace(in.text());
        in.skip();
    }
    return keys;
}

/// Returns the keys of a commit with every field.
Keys writtenOfCommit() {
    const std::vector<std::string_view> names = {"a"};
    const std::string empty_list = "\x80";
    cp::CommitFields commit;
    commit.id = id;
    commit.parent = commit.base = other;
    commit.step = 3;
    commit.source = stategraph::Source::update;
    commit.folds = 2;
    commit.took = cp::LoggedTook{.superstep_us = 1};
    commit.attempts = 2;
    commit.ran = {cp::Ran::Kind::one, "a"};
    commit.next = names;
    commit.edges = names;
    commit.joins = {{"join:a:b", names}};
    commit.deferred = {{"a", cp::Deferral::waiting}};
    commit.sends = {{"a", "\xf6"}};
    commit.parents = {{"", other}};
    commit.visits = {{"a", other}};
    commit.around = other;
    commit.graph = 1;
    commit.schema = 2;
    commit.metadata = "\xa0";
    commit.failure = "no";
    commit.input = empty_list;
    commit.writes = empty_list;
    std::string bytes;
    cp::writeCommit(commit, bytes);
    Decoder in(cp::openRecord({"t", "", id}, bytes));
    REQUIRE(in.array() == 3);
    return keysOf(in);
}

/// Returns the keys of a task's record with every field.
Keys writtenOfTask() {
    cp::TaskFields task;
    task.node = "a";
    task.to = {"b"};
    task.sends = {{"a", "\xf6"}};
    task.error = "no";
    task.has_failed_since = true;
    task.effect = cp::LoggedEffect{.begun = 1, .result = "\xf6"};
    task.writes = "\x80";
    task.took = cp::LoggedTaskTime{.start_us = 1, .took_us = 2};
    task.attempts = 3;
    task.answers = {{.id = {}, .index = 0, .value = "\xf6"}};
    task.failure = cp::LoggedFailure{.attempts = 2, .text = "no"};
    task.interrupts = {{.id = {}, .index = 0, .value = "\xf6", .key = "k"}};
    task.gates = {id};
    std::string bytes;
    cp::writeTask(id, task, bytes);
    Decoder in(cp::openRecord({"t", "", id, "p"}, bytes));
    return keysOf(in);
}

TEST_CASE("the grammar of records names the keys that are written, and no others") {
    const std::string grammar = textOf("src/checkpoint/record.hpp");
    const std::regex key(R"re("([a-z]+)":)re");
    CHECK(matches(between(grammar, "header      :=", "ref         :="), key) == writtenOfCommit());
    CHECK(matches(between(grammar, "pending write body :=", "Pending writes are keyed"), key) == writtenOfTask());
}

TEST_CASE("the document of the format names the keys that are written") {
    const std::string document = textOf("docs/checkpoint_format.md");
    const std::string table = between(document, "| header | value | absent |", "\n\n");
    Keys rows;
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("| `")) continue;
        rows.merge(matches(line.substr(0, line.find('|', 1)), std::regex("`([a-z]+)`")));
    }
    CHECK(rows == writtenOfCommit());
    const std::string of_task = between(document, "The body of a pending write is a map with these keys:\n\n", "\n\n");
    for (const std::string& key : writtenOfTask()) {
        INFO(key);
        CHECK(of_task.find("`" + key + "`") != std::string::npos);
    }
}

TEST_CASE("grammar and document name how a run may have ended") {
    const std::string grammar = textOf("src/checkpoint/record.hpp");
    const std::string document = textOf("docs/checkpoint_format.md");
    std::vector<std::string_view> words{cp::run_goes_on, cp::run_failed, cp::thread_cancelled};
    for (const stategraph::Status status : stategraph::indexed_statuses) {
        if (cp::isNoted(status)) words.emplace_back(toString(status));
    }
    for (const std::string_view word : words) {
        INFO(word);
        CHECK(grammar.find('"' + std::string(word) + '"') != std::string::npos);
        CHECK(document.find('`' + std::string(word) + '`') != std::string::npos);
    }
}

}  // namespace
