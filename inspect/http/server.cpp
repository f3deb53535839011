#include <stategraph/inspect/server.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <random>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/serve/server.hpp>

#include "inspect/app/row_messages.hpp"
#include "inspect/http/api.hpp"
#include "inspect/http/key.hpp"
#include "inspect/http/page.hpp"

namespace stategraph::inspect {
namespace {

// Allows scripts, styles and requests of the page itself, and nothing from other origins.
constexpr const char* content_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string randomKey() {
    static constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::random_device random;
    std::string key;
    for (int i = 0; i < 32; ++i) key += letters[random() % letters.size()];
    return key;
}

ServerOptions checkedOptions(ServerOptions options) {
    const char* const given = std::getenv("STATEGRAPH_INSPECTOR_KEY");
    const bool is_named = !options.key.empty();
    if (!is_named) options.key = given != nullptr && *given != '\0' ? given : randomKey();
    if (!isAcceptableKey(options.key)) {
        throw InvalidArgumentError(std::string(is_named ? "inspect::ServerOptions::key" : "STATEGRAPH_INSPECTOR_KEY") +
                                   " needs " + std::string(key_rule));
    }
    return options;
}

serve::ServerOptions listening(const Api& api) {
    const ServerOptions& options = api.options();
    serve::ServerOptions made;
    // Rows are large. No request without the key has a body, so none is read of a client that does not have it.
    made.body_bytes_max = rows::request_bytes_max;
    made.authorize = [&api](const serve::RequestView& request) {
        const std::string_view length = request.header("Content-Length");
        const bool has_body = (!length.empty() && length != "0") || !request.header("Transfer-Encoding").empty();
        return has_body && !api.hasKey(request) ? 401 : 0;
    };
    made.port = options.port;
    made.threads = 4;  // a long read does not stop other pages
    made.connections_max = 256;
    made.handle_signals = options.handle_signals;
    made.headers = {{"Content-Security-Policy", content_policy},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cross-Origin-Resource-Policy", "same-origin"},
                    {"Cross-Origin-Opener-Policy", "same-origin"}};
    return made;
}

}  // namespace

std::vector<IncompatibleThread> ServedGraph::check(BaseCheckpointSaver& /*saver*/,
                                                   const CompatibilityOptions& /*options*/) {
    throw InvalidArgumentError("this graph cannot be checked: its ServedGraph has no check()");
}

struct Server::Impl {
    Impl(std::shared_ptr<BaseCheckpointSaver> saver, ServerOptions options)
        : api(std::move(saver), checkedOptions(std::move(options))), http(listening(api)) {
        for (const PageFile& file : pageFiles())
            http.page(std::string(file.path), std::string(file.content_type), std::string(file.text));
        if (pageFiles().empty())
            http.page("/", "text/plain; charset=utf-8", "inspect/web/dist was missing when this program was built\n");
        http.handle("api", [this](const serve::HandlerRequest& request) { return api.answer(request); });
    }

    Api api;
    serve::Server http;  // destroyed before the objects that it calls
};

Server::Server(std::shared_ptr<BaseCheckpointSaver> saver, ServerOptions options)
    : impl_(std::make_unique<Impl>(std::move(saver), std::move(options))) {}
Server::~Server() = default;

void Server::add(const std::string& name, std::shared_ptr<ServedGraph> graph) {
    impl_->api.add(name, std::move(graph));
}

std::string Server::url() const { return "http://127.0.0.1:" + std::to_string(port()) + "/#k=" + key(); }
std::uint16_t Server::port() const noexcept { return impl_->http.port(); }
const std::string& Server::key() const noexcept { return impl_->api.options().key; }
void Server::wait() { impl_->http.wait(); }
void Server::stop() noexcept { impl_->http.stop(); }

std::vector<std::string> detail::nodesOf(const stategraph::detail::Core& core) {
    std::vector<std::string> names;
    for (const DescribedNode& node : stategraph::detail::describeGraph(core).nodes) names.push_back(node.name);
    return names;
}

}  // namespace stategraph::inspect
