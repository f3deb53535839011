#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

// What a program and a command say to each other about the rows of the program's saver: the methods of
// BaseCheckpointSaver as messages in CBOR. docs/inspector_api.md lists the operations.
namespace stategraph::inspect::rows {

/// The version of these messages. A change that an earlier version does not understand needs a new number.
constexpr std::uint64_t version = 1;
/// The largest body of a request and of an answer, in bytes.
constexpr std::size_t request_bytes_max = std::size_t{64} << 20U;
constexpr std::size_t answer_bytes_max = std::size_t{256} << 20U;
/// A page of a list ends after this many bytes or rows; the reader asks for the next one.
constexpr std::size_t page_bytes_max = std::size_t{16} << 20U;
constexpr std::size_t page_rows_max = 1000;
constexpr std::string_view content_type = "application/cbor";
/// The library's version, such as "0.1.0".
std::string versionText();

/// An id as it crosses the wire: 16 bytes, or none for the id that is none.
struct Id {
    std::string bytes;

    Id() = default;
    Id(CheckpointId id);
    /// Errors: WrongTypeError if it is neither 16 bytes nor none.
    CheckpointId id() const;
};

struct Commit {
    Id id;
    Id parent;
    Id base;
    std::string bytes;
    static constexpr auto fields() {
        return stategraph::fields(field("id", &Commit::id), field("parent", &Commit::parent),
                                  field("base", &Commit::base), field("bytes", &Commit::bytes));
    }
};
struct Write {
    Id id;
    std::string path;
    std::string bytes;
    std::optional<std::string> expected;
    static constexpr auto fields() {
        return stategraph::fields(field("id", &Write::id), field("path", &Write::path), field("bytes", &Write::bytes),
                                  field("expected", &Write::expected));
    }
};
struct Outlook {
    std::uint8_t status = 0;
    std::optional<std::chrono::system_clock::time_point> due;

    Outlook() = default;
    Outlook(const ThreadOutlook& outlook);
    /// Errors: WrongTypeError for a status that does not exist.
    ThreadOutlook outlook() const;
    static constexpr auto fields() {
        return stategraph::fields(field("status", &Outlook::status), field("due", &Outlook::due));
    }
};
struct Put {
    std::string thread;
    std::string ns;
    Id head;
    std::vector<Commit> commits;
    std::vector<Write> writes;
    std::vector<Write> compared;
    bool sync = false;
    Outlook outlook;
    std::string summary;
    Id root;
    bool answers = false;
    static constexpr auto fields() {
        return stategraph::fields(field("thread", &Put::thread), field("ns", &Put::ns), field("head", &Put::head),
                                  field("commits", &Put::commits), field("writes", &Put::writes),
                                  field("compared", &Put::compared), field("sync", &Put::sync),
                                  field("outlook", &Put::outlook), field("summary", &Put::summary),
                                  field("root", &Put::root), field("answers", &Put::answers));
    }
};

struct TupleWanted {
    std::string thread;
    std::string ns;
    Id id;
    Id before;
    static constexpr auto fields() {
        return stategraph::fields(field("thread", &TupleWanted::thread), field("ns", &TupleWanted::ns),
                                  field("id", &TupleWanted::id), field("before", &TupleWanted::before));
    }
};
struct StoredRow {
    Id id;
    std::string bytes;
    static constexpr auto fields() {
        return stategraph::fields(field("id", &StoredRow::id), field("bytes", &StoredRow::bytes));
    }
};
struct PathRow {
    std::string path;
    std::string bytes;
    static constexpr auto fields() {
        return stategraph::fields(field("path", &PathRow::path), field("bytes", &PathRow::bytes));
    }
};
struct Tuple {
    Id id;
    Id head;
    std::vector<StoredRow> commits;
    std::vector<PathRow> writes;
    std::optional<StoredRow> next;
    static constexpr auto fields() {
        return stategraph::fields(field("id", &Tuple::id), field("head", &Tuple::head),
                                  field("commits", &Tuple::commits), field("writes", &Tuple::writes),
                                  field("next", &Tuple::next));
    }
};

struct ListWanted {
    std::optional<std::string> thread;
    std::optional<std::string> ns;
    Id before;
    std::optional<std::uint64_t> limit;
    bool heads = false;
    std::optional<std::string> after;
    bool with_writes = false;
    std::vector<std::string> threads;
    static constexpr auto fields() {
        return stategraph::fields(
            field("thread", &ListWanted::thread), field("ns", &ListWanted::ns), field("before", &ListWanted::before),
            field("limit", &ListWanted::limit), field("heads", &ListWanted::heads), field("after", &ListWanted::after),
            field("with_writes", &ListWanted::with_writes), field("threads", &ListWanted::threads));
    }
};
struct Listed {
    std::string thread;
    std::string ns;
    Id id;
    std::string bytes;
    std::vector<PathRow> writes;
    std::string damaged;
    static constexpr auto fields() {
        return stategraph::fields(field("thread", &Listed::thread), field("ns", &Listed::ns), field("id", &Listed::id),
                                  field("bytes", &Listed::bytes), field("writes", &Listed::writes),
                                  field("damaged", &Listed::damaged));
    }
};
struct ListPage {
    std::vector<Listed> rows;
    /// Whether there may be further rows, which follow the last one (continueAfter).
    bool more = false;
    static constexpr auto fields() {
        return stategraph::fields(field("rows", &ListPage::rows), field("more", &ListPage::more));
    }
};

struct OpenWanted {
    std::vector<std::uint8_t> statuses;
    std::optional<std::string> after;
    std::uint64_t limit = 0;
    bool summaries = false;
    static constexpr auto fields() {
        return stategraph::fields(field("statuses", &OpenWanted::statuses), field("after", &OpenWanted::after),
                                  field("limit", &OpenWanted::limit), field("summaries", &OpenWanted::summaries));
    }
};
struct Place {
    Id since;
    std::string thread;
    static constexpr auto fields() {
        return stategraph::fields(field("since", &Place::since), field("thread", &Place::thread));
    }
};
struct NewestWanted {
    std::vector<std::uint8_t> statuses;
    std::optional<Place> before;
    std::uint64_t limit = 0;
    bool summaries = false;
    static constexpr auto fields() {
        return stategraph::fields(field("statuses", &NewestWanted::statuses), field("before", &NewestWanted::before),
                                  field("limit", &NewestWanted::limit), field("summaries", &NewestWanted::summaries));
    }
};
struct Indexed {
    Place place;
    Outlook outlook;
    std::optional<std::string> summary;
    static constexpr auto fields() {
        return stategraph::fields(field("place", &Indexed::place), field("outlook", &Indexed::outlook),
                                  field("summary", &Indexed::summary));
    }
};
struct Due {
    std::chrono::system_clock::time_point due;
    std::string thread;
    static constexpr auto fields() {
        return stategraph::fields(field("due", &Due::due), field("thread", &Due::thread));
    }
};
struct DueWanted {
    std::chrono::system_clock::time_point until;
    std::optional<Due> after;
    std::uint64_t limit = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("until", &DueWanted::until), field("after", &DueWanted::after),
                                  field("limit", &DueWanted::limit));
    }
};
struct CountWanted {
    std::uint64_t most = 0;
    static constexpr auto fields() { return stategraph::fields(field("most", &CountWanted::most)); }
};

struct LogCommits {
    std::string ns;
    std::vector<Id> ids;
    static constexpr auto fields() {
        return stategraph::fields(field("ns", &LogCommits::ns), field("ids", &LogCommits::ids));
    }
};
struct Prune {
    std::optional<std::string> thread;
    std::optional<std::uint64_t> keep_last;
    std::optional<std::chrono::system_clock::time_point> older_than;
    std::optional<std::chrono::system_clock::time_point> unused_since;
    std::uint8_t rewrite = 0;
    std::vector<LogCommits> commits;
    static constexpr auto fields() {
        return stategraph::fields(field("thread", &Prune::thread), field("keep_last", &Prune::keep_last),
                                  field("older_than", &Prune::older_than), field("unused_since", &Prune::unused_since),
                                  field("rewrite", &Prune::rewrite), field("commits", &Prune::commits));
    }
};
struct DamagedRow {
    std::string thread;
    std::string why;
    static constexpr auto fields() {
        return stategraph::fields(field("thread", &DamagedRow::thread), field("why", &DamagedRow::why));
    }
};
struct Pruned {
    std::uint64_t dropped = 0;
    std::vector<DamagedRow> damaged;
    static constexpr auto fields() {
        return stategraph::fields(field("dropped", &Pruned::dropped), field("damaged", &Pruned::damaged));
    }
};
struct ThreadNamed {
    std::string thread;
    /// The new thread of a copy.
    std::string to;
    static constexpr auto fields() {
        return stategraph::fields(field("thread", &ThreadNamed::thread), field("to", &ThreadNamed::to));
    }
};
struct Graph {
    std::uint64_t graph = 0;
    std::uint64_t schema = 0;
    std::string bytes;
    static constexpr auto fields() {
        return stategraph::fields(field("graph", &Graph::graph), field("schema", &Graph::schema),
                                  field("bytes", &Graph::bytes));
    }
};

/// Whether the program's graphs can resume threads: those that `lines` has as exportThread writes them, or, without
/// lines, a page of the threads of the program's own store.
struct Check {
    /// The name of a graph; empty: each thread is checked with all graphs, and one of them must be able to resume it.
    std::string graph;
    std::string lines;
    std::optional<std::string> after;
    static constexpr auto fields() {
        return stategraph::fields(field("graph", &Check::graph), field("lines", &Check::lines),
                                  field("after", &Check::after));
    }
};
struct Incompatible {
    std::string thread;
    Id id;
    std::string ns;
    std::string node;
    std::string channel;
    std::string why;
    static constexpr auto fields() {
        return stategraph::fields(field("thread", &Incompatible::thread), field("id", &Incompatible::id),
                                  field("ns", &Incompatible::ns), field("node", &Incompatible::node),
                                  field("channel", &Incompatible::channel), field("why", &Incompatible::why));
    }
};
struct Checked {
    std::vector<Incompatible> threads;
    std::uint64_t count = 0;
    /// The last thread of the page, if there may be more threads.
    std::optional<std::string> next;
    static constexpr auto fields() {
        return stategraph::fields(field("threads", &Checked::threads), field("count", &Checked::count),
                                  field("next", &Checked::next));
    }
};

struct Nothing {
    static constexpr auto fields() { return stategraph::fields(); }
};

/// An error as the body of an answer whose status is not 2xx, as JSON; answers of other operations have `error` alone.
struct Failed {
    std::string error;
    /// toString(Errc).
    std::string code;
    std::string thread_id;
    std::string checkpoint_ns;
    std::string checkpoint_id;
    static constexpr auto fields() {
        return stategraph::fields(
            field("error", &Failed::error), field("code", &Failed::code), field("thread_id", &Failed::thread_id),
            field("checkpoint_ns", &Failed::checkpoint_ns), field("checkpoint_id", &Failed::checkpoint_id));
    }
};

std::vector<std::uint8_t> numbersOf(const Statuses& statuses);
/// Errors: WrongTypeError for a status that does not exist.
Statuses statusesOf(const std::vector<std::uint8_t>& numbers);

std::vector<PathRow> toRows(std::vector<StoredWrite> writes);
std::vector<StoredWrite> fromRows(std::vector<PathRow> rows);

ListWanted toMessage(const ListQuery& query);
ListQuery fromMessage(ListWanted wanted);
/// Returns whether a list in this form can be read in pages.
bool hasPages(const ListQuery& query) noexcept;
/// Changes a query that has pages into one for the rows after `last`, which is the last of `count` rows.
void continueAfter(ListQuery& query, const std::string& thread_id, CheckpointId last, std::size_t count);

template <class T>
std::string encoded(const T& message) {
    std::string out;
    Encoder encoder(out);
    Codec<T>::encode(encoder, message);
    return out;
}
/// Errors: WrongTypeError for bytes that are not exactly one such message.
template <class T>
T decoded(std::string_view bytes) {
    T message{};
    Decoder decoder(bytes);
    Codec<T>::decode(decoder, message);
    if (!decoder.atEnd()) throw WrongTypeError("something follows the message");
    return message;
}

}  // namespace stategraph::inspect::rows

template <>
struct stategraph::Codec<stategraph::inspect::rows::Id> {
    static void encode(Encoder& encoder, const inspect::rows::Id& id) { encoder.bytes(id.bytes); }
    static void decode(Decoder& decoder, inspect::rows::Id& id) {
        id.bytes.assign(decoder.text());
        (void)id.id();  // it must be one
    }
};
