#include <map>
#include <string>

#include <stategraph/codec_std.hpp>
#include <stategraph/raw_edit.hpp>

#include "inspect/commands.hpp"
#include "inspect/leased.hpp"
#include "inspect/views.hpp"

// edit --raw: sets channels without the program.
namespace stategraph::inspect {
namespace {

struct RawEditView {
    std::string thread_id;
    std::string checkpoint_id;
    /// The checkpoint whose fork undoes the edit.
    std::string before;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &RawEditView::thread_id),
                                  field("checkpoint_id", &RawEditView::checkpoint_id),
                                  field("before", &RawEditView::before));
    }
};

}  // namespace

Exit editRawThread(Call& call, const std::map<std::string, Value>& values) {
    if (call.arguments.has("--as") || call.arguments.has("--name"))
        throw UsageError{"a raw edit is not written as a node: leave out --as and --name, or --raw"};
    const Config place = findCheckpoint(call.saver, call.arguments, call.place(0));
    const std::string thread = place.thread_id.toString();
    const auto newest = call.saver.getTuple({.log = {thread, ""}});
    refuseLeased(call.shared_saver, thread);
    Metadata metadata = {{"by", "stategraph edit --raw"}};
    if (const auto note = call.arguments.value("--note")) metadata.push_back({"note", *note});
    const Config made =
        editRaw(call.saver, place, values,
                {.any_kind = call.arguments.has("--any-kind"), .metadata = metadata, .durability = Durability::sync});
    const RawEditView view{thread, made.checkpoint_id.toString(), newest ? newest->id.toString() : ""};
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(view) << '\n';
    } else {
        out << "checkpoint " << view.checkpoint_id
            << " is the newest now; the program continues from it when it resumes the thread\n"
            << "to undo this: stategraph fork " << plain(thread) << '@' << view.before << '\n';
    }
    return Exit::done;
}

}  // namespace stategraph::inspect
