#include "src/commands/store.hpp"

#include <string>

#include <stategraph/error.hpp>

namespace stategraph::commands {

void store(BaseCheckpointSaver& saver, const PutRequest& request) { saver.put(request); }

void checkConfig(const Config& config, const char* command) {
    if (config.thread_id.empty())
        throw InvalidArgumentError(std::string(command) + ": the config has no thread_id; name the thread");
    if (config.checkpoint_ns.empty()) return;
    throw InvalidArgumentError(std::string(command) + ": the config names the subgraph '" +
                                   std::string(config.checkpoint_ns) +
                                   "'; leave checkpoint_ns out, as the thread's own log is where it is stored",
                               {.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns});
}

}  // namespace stategraph::commands
