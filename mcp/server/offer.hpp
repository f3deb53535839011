#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/mcp/server.hpp>

namespace stategraph::mcp::detail {

// The arguments that a call of a graph with a saver may have besides its channels.
inline constexpr std::string_view thread_argument = "thread_id";
inline constexpr std::string_view resume_argument = "resume";
inline constexpr std::string_view answers_argument = "answers";

/// The tools of a server, in the order of their names. Safe from any thread.
class Offer {
public:
    explicit Offer(ServerOptions options);

    const ServerOptions& options() const noexcept { return options_; }
    /// {"name", "version"}.
    boost::json::object info() const;
    /// Errors: as Server::add.
    void add(std::shared_ptr<const ServedTool> tool);
    /// Null if there is none.
    std::shared_ptr<const ServedTool> find(std::string_view name) const;

    /// A page of `tools/list`; `cursor`: after the tool of that name, empty: the first page. None: no tool has it.
    std::optional<boost::json::object> page(std::string_view cursor) const;

private:
    struct Listed {
        std::shared_ptr<const ServedTool> tool;
        boost::json::object entry;
    };
    const ServerOptions options_;
    mutable stategraph::detail::Mutex mutex_;
    std::vector<Listed> tools_ SG_GUARDED_BY(mutex_);
};

}  // namespace stategraph::mcp::detail
