// SECONDS: 120
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stategraph/telemetry/otlp_exporter.hpp>

// An exporter that is destroyed after main, when nothing can be sent any more, and one in a forked child, which has
// none of its threads: neither keeps the process from ending. The collector takes connections and answers nothing.
namespace {

namespace sg = stategraph;
namespace telemetry = stategraph::telemetry;
using namespace std::chrono_literals;

// Made before what sends, and so destroyed after it.
std::shared_ptr<telemetry::OtlpExporter> lasting;

int listening(std::uint16_t& port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(fd, 16) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0)
        std::abort();
    port = ntohs(at.sin_port);
    return fd;
}

std::shared_ptr<telemetry::OtlpExporter> exporter(std::uint16_t port, std::chrono::milliseconds flush_limit) {
    telemetry::OtlpOptions options{.endpoint = "http://127.0.0.1:" + std::to_string(port)};
    options.interval = 1h;
    options.metrics_interval = 1h;
    options.flush_limit = flush_limit;
    options.http.connect_limit = options.http.idle_limit = options.http.total_limit = 1h;
    return std::make_shared<telemetry::OtlpExporter>(options);
}

sg::Span span() {
    sg::Span made;
    made.trace_id = {1};
    made.span_id = {2};
    made.name = "work";
    return made;
}

/// Runs in a child, which must exit with 0 within a minute.
template <class F>
bool endsWell(const char* what, F act) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        act();
        std::exit(3);
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    const bool is_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!is_well) std::printf("wrong: %s: status %d\n", what, status);
    return is_well;
}

}  // namespace

int main() {
    std::uint16_t port = 0;
    const int collector = listening(port);
    bool is_well = endsWell("an exporter after main, with a request under way", [&] {
        lasting = exporter(port, 100ms);
        lasting->take(span());
        (void)lasting->flush(200ms);
        lasting->take(span());
        std::exit(0);
    });
    is_well = endsWell("an exporter after main, which has sent nothing",
                       [&] {
                           lasting = exporter(port, 1h);
                           lasting->take(span());
                           std::exit(0);
                       }) &&
              is_well;
    is_well = endsWell("an exporter in a forked child",
                       [&] {
                           auto made = exporter(port, 1h);
                           made->take(span());
                           (void)made->flush(100ms);
                           const bool is_child_well = endsWell("the child", [&] {
                               made->take(span());
                               const bool is_flushed = made->flush(1h);
                               const auto counts = made->counts();
                               made.reset();
                               std::_Exit(!is_flushed && counts.sent == 0 ? 0 : 1);
                           });
                           std::_Exit(is_child_well ? 0 : 1);
                       }) &&
              is_well;
    ::close(collector);
    return is_well ? 0 : 1;
}
