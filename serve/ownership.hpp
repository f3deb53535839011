#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include <stategraph/serve/admission.hpp>
#include <stategraph/serve/endpoint.hpp>

// Whose threads are: what a run stores of who asked for it, and who may ask for a thread.
namespace stategraph::serve {

/// Gives a run the identity of who asks for it: as its context (Runtime::context<Identity>) and in its metadata.
void runAs(const Identity& asking, RunConfig& config);

/// Whether a thread, as it is stored, belongs to who asks.
bool isOwn(const ThreadOwner& thread, const std::optional<Identity>& asking);

/// Whose a thread is for a client.
enum class Whose : std::uint8_t { own, not_begun, anothers };
/// Looks again whose a thread is. Null: threads belong to nobody.
using LookWhose = std::function<Whose()>;

/// Keeps another's events from the response to a run. The log of the thread may have some: of two users who begin a
/// thread at the same time, one is refused.
class OwnEventsOnly {
public:
    explicit OwnEventsOnly(const LookWhose& look) : look_(look), is_known_(!look) {}
    bool allows(const StreamEvent& event) {
        if (is_known_ || event.mode == StreamMode::runs) return true;
        const Whose whose = look_();
        is_known_ = whose == Whose::own;
        return whose != Whose::anothers;
    }

private:
    LookWhose look_;
    bool is_known_;
};

/// Lets a run begin only on the thread as it was found: on none that another has begun meanwhile. With a thread that
/// was not begun, the run begins it or is refused, and its first commit has the owner.
void runOnlyOn(const ThreadOwner& found, RunConfig& config);

}  // namespace stategraph::serve
