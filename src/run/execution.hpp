#pragma once
#include <string_view>

#include "src/run/run.hpp"
#include "src/superstep/routes.hpp"

namespace stategraph::engine {

/// Runs one task, all its attempts, and stores its record where one is due. Called on the thread that runs the task.
class Execution {
public:
    Execution(Run& run, Task& task) noexcept : run_(run), task_(task), node_(run.nodeOf(task)) {}
    void operator()() noexcept;
    /// One attempt. False: it is to be tried again, after a wait.
    bool once(int number) noexcept;
    void waitAfter(int number) const;

private:
    void attempt(int number);
    void call(detail::TaskContext& context);
    void callNode(Runtime& runtime, detail::TaskContext& context);
    void callApart(detail::TaskContext& context, std::shared_ptr<const void> input);
    void callSubgraph(int number);
    void takeResult();
    NodeError nodeError(std::string text);
    void takeParentCommand(ParentCommandSignal& signal);
    void route(Runtime& runtime);
    void routeAlone(Runtime& runtime);
    void routeBeside(Runtime& runtime);
    void takeBack();  // what routeAlone put into the state
    void finish();
    void failed(std::exception_ptr error) noexcept;
    void interrupted(std::vector<Interrupt> asked);
    void stopped() noexcept;
    bool isWorthAnother(const std::exception_ptr& error, int attempt) const noexcept;
    bool isAlone() const noexcept { return run_.current_.size() == 1; }

    Run& run_;
    Task& task_;
    const Node& node_;
};

}  // namespace stategraph::engine
