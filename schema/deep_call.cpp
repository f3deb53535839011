#include "schema/deep_call.hpp"

#include <exception>
#include <system_error>

#include <pthread.h>

namespace stategraph::schema {
namespace {

// What a level takes in a build without optimisations and with sanitizers. A stack gets memory as it grows.
constexpr std::size_t bytes_of_level = std::size_t{32} << 10U;
constexpr std::size_t levels_of_any_thread = 64;

struct Call {
    const std::function<void()>& function;
    std::exception_ptr error = {};
};

void* run(void* given) noexcept {
    auto& call = *static_cast<Call*>(given);
    try {
        call.function();
    } catch (...) {
        call.error = std::current_exception();
    }
    return nullptr;
}

}  // namespace

void withStackFor(std::size_t levels, const std::function<void()>& call) {
    if (levels <= levels_of_any_thread) return call();
    Call made{call};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    int error = pthread_attr_setstacksize(&attributes, levels * bytes_of_level);
    pthread_t thread{};
    if (error == 0) error = pthread_create(&thread, &attributes, &run, &made);
    pthread_attr_destroy(&attributes);
    if (error != 0) throw std::system_error(error, std::generic_category(), "there is no thread to read a schema on");
    pthread_join(thread, nullptr);
    if (made.error) std::rethrow_exception(made.error);
}

}  // namespace stategraph::schema
