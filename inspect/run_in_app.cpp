#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/unfinished.hpp>

#include "inspect/app/app_saver.hpp"
#include "inspect/commands.hpp"
#include "inspect/views.hpp"

// edit and run: what only a program can do, because it has the nodes, the reducers and the types. The commands ask the
// running program to do it.
namespace stategraph::inspect {
namespace {

struct EditWanted {
    std::string graph;
    std::map<std::string, Value> values;
    std::optional<std::string> as_node;
    static constexpr auto fields() {
        return stategraph::fields(field("graph", &EditWanted::graph), field("values", &EditWanted::values),
                                  field("as_node", &EditWanted::as_node));
    }
};
struct RunWanted {
    std::string graph;
    std::optional<std::string> checkpoint_id;
    std::optional<Value> input;
    std::string until;
    std::optional<std::vector<std::string>> interrupt_before;
    std::optional<std::vector<std::string>> interrupt_after;
    static constexpr auto fields() {
        return stategraph::fields(field("graph", &RunWanted::graph), field("checkpoint_id", &RunWanted::checkpoint_id),
                                  field("input", &RunWanted::input), field("until", &RunWanted::until),
                                  field("interrupt_before", &RunWanted::interrupt_before),
                                  field("interrupt_after", &RunWanted::interrupt_after));
    }
};
struct Edited {
    std::string checkpoint_id;
    static constexpr auto fields() { return stategraph::fields(field("checkpoint_id", &Edited::checkpoint_id)); }
};
struct Head {
    bool running = false;
    std::string run_error;
    static constexpr auto fields() {
        return stategraph::fields(field("running", &Head::running), field("run_error", &Head::run_error));
    }
};
struct RanView {
    std::string thread_id;
    std::string checkpoint_id;
    std::string status;
    std::string error;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &RanView::thread_id),
                                  field("checkpoint_id", &RanView::checkpoint_id), field("status", &RanView::status),
                                  field("error", &RanView::error));
    }
};

AppSaver& appOf(Call& call, std::string_view command) {
    if (auto* const app = dynamic_cast<AppSaver*>(&call.saver)) return *app;
    throw UsageError{std::string(command) +
                     " needs the running program, which has the nodes and the types: name its inspector's address with "
                     "--store, as in --store 'http://127.0.0.1:41873/#k=KEY'" +
                     (command == "edit" ? "; or set channels without it, with --raw" : "")};
}

// A name as a segment of a path.
std::string encodedName(std::string_view name) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (const unsigned char c : name) {
        text += '%';
        text += digits[c >> 4U];
        text += digits[c & 15U];
    }
    return text;
}

// Returns the answer of an operation. Errors: NotFound, InvalidArgumentError, and those of throwRefusal.
template <class T>
T read(AppSaver& app, const AppAnswer& answer) {
    if (answer.status < 200 || answer.status > 299) {
        std::string text;
        try {
            text = parseJson(answer.body).as<rows::Failed>().error;
        } catch (const Error&) {  // throwRefusal says that it is not understood
        }
        if (answer.status == 404 && !text.empty()) throw NotFound{text};
        if (answer.status == 400 && !text.empty()) throw InvalidArgumentError(text);
        throwRefusal(app.client().address(), answer);
    }
    try {
        return parseJson(answer.body).as<T>();
    } catch (const Error& error) {
        throw SaverError("the answer of the program at " + app.client().address().shown() +
                         " is not understood: " + error.message());
    }
}

template <class T>
T post(AppSaver& app, const std::string& path, const std::string& body) {
    return read<T>(app, app.client().post(path, "application/json", body, true));
}

std::pair<std::string, Value> valueNamed(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw UsageError{"a change of the state is CHANNEL=VALUE, not '" + text + "'"};
    return {text.substr(0, equals), valueOf(text.substr(equals + 1))};
}

// None: the graph's own breakpoints.
std::optional<std::vector<std::string>> breakpoints(const Call& call, std::string_view option) {
    if (!call.arguments.has(option)) return {};
    return call.arguments.values(option);
}

// Waits until the program has ended a run. A run may take any time; interrupt the command to stop waiting.
Head waitForEnd(AppSaver& app, const std::string& thread_path) {
    constexpr std::chrono::milliseconds longest{1000};
    for (std::chrono::milliseconds wait{20};; wait = std::min(wait * 2, longest)) {
        Head head = read<Head>(app, app.client().get(thread_path + "/head"));
        if (!head.running) return head;
        std::this_thread::sleep_for(wait);
    }
}

}  // namespace

Exit editThread(Call& call) {
    const bool is_raw = call.arguments.has("--raw");
    if (!is_raw && (call.arguments.has("--any-kind") || call.arguments.has("--note")))
        throw UsageError{"--any-kind and --note are for raw edits: add --raw, or leave them out"};
    std::map<std::string, Value> values;
    for (std::size_t i = 1; i < call.arguments.places().size(); ++i) {
        if (!values.insert(valueNamed(call.place(i))).second)
            throw UsageError{"the channel of '" + call.place(i) + "' is named twice"};
    }
    if (is_raw) return editRawThread(call, values);
    AppSaver& app = appOf(call, "edit");
    const Config place = findCheckpoint(call.saver, call.arguments, call.place(0));
    const EditWanted wanted{.graph = call.arguments.value("--name").value_or(""),
                            .values = std::move(values),
                            .as_node = call.arguments.value("--as")};
    const std::string path = "/api/threads/" + encodedName(place.thread_id.view()) + "/checkpoints/" +
                             place.checkpoint_id.toString() + "/edit?ns=" + encodedName(place.checkpoint_ns);
    const auto edited = post<Edited>(app, path, toJson(wanted));
    if (call.asJson()) {
        call.terminal.out() << toJson(edited) << '\n';
    } else {
        call.terminal.out() << "checkpoint " << plain(edited.checkpoint_id)
                            << " is the newest now; the program continues from it when it resumes the thread\n";
    }
    return Exit::done;
}

Exit runThread(Call& call) {
    AppSaver& app = appOf(call, "run");
    const Config place = findPlace(call.saver, call.arguments, call.place(0));
    RunWanted wanted{.graph = call.arguments.value("--name").value_or(""),
                     .checkpoint_id = {},
                     .input = {},
                     .until = call.arguments.has("--next") ? "next" : "end",
                     .interrupt_before = breakpoints(call, "--before"),
                     .interrupt_after = breakpoints(call, "--after")};
    if (call.arguments.has("--next") && (wanted.interrupt_before || wanted.interrupt_after))
        throw UsageError{"a run takes either --next or breakpoints (--before, --after)"};
    if (place.checkpoint_id) wanted.checkpoint_id = place.checkpoint_id.toString();
    if (const auto input = call.arguments.value("--input")) wanted.input = valueOf(*input);
    const std::string thread_path = "/api/threads/" + encodedName(place.thread_id.view());
    struct Begun {
        std::string run;
        static constexpr auto fields() { return stategraph::fields(field("run", &Begun::run)); }
    };
    (void)post<Begun>(app, thread_path + "/run", toJson(wanted));
    const Head ended = waitForEnd(app, thread_path);
    const auto newest = call.saver.getTuple({.log = {place.thread_id.view()}});
    const auto open = call.saver.unfinishedThreads({.thread_ids = {place.thread_id.toString()}});
    const RanView view{place.thread_id.toString(), newest ? newest->id.toString() : "",
                       toString(open.empty() ? Status::done : open.front().reason), ended.run_error};
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(view) << '\n';
    } else {
        out << plain(view.thread_id) << "  " << view.status;
        for (const UnfinishedThread& thread : open) {
            for (const Interrupt& asked : thread.interrupts) out << "  ? " << plain(asked.value.toJson());
        }
        if (!view.error.empty()) out << "  ! " << call.terminal.in(Colour::red, plain(view.error));
        out << '\n';
    }
    return view.error.empty() ? Exit::done : Exit::no;
}

}  // namespace stategraph::inspect
