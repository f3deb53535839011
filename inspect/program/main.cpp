#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <stategraph/inspect/command.hpp>

// The program `stategraph`. In a terminal, its output is coloured, and goes through a pager (STATEGRAPH_PAGER, PAGER,
// or less) if it has more lines than the terminal.
namespace {

struct Size {
    std::size_t columns = 0;
    std::size_t lines = 0;
};

Size terminalSize() {
    winsize size{};
    if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
    return {size.ws_col, size.ws_row};
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Returns false if there is no pager.
bool page(const std::string& text) {
    std::string pager = variable("STATEGRAPH_PAGER");
    if (pager.empty()) pager = variable("PAGER");
    if (pager.empty()) pager = "less -FRX";
    std::signal(SIGPIPE, SIG_IGN);  // the pager may end before it has read everything
    FILE* const pipe = popen(pager.c_str(), "w");
    if (pipe == nullptr) return false;
    std::fwrite(text.data(), 1, text.size(), pipe);
    return pclose(pipe) >> 8 != 127;  // the shell found no such program
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const Size size = terminalSize();
    const bool is_terminal = size.columns > 0;
    // `serve` prints while it works, so that a pager would show it too late.
    const bool is_paged = is_terminal && (arguments.empty() || arguments[0] != "serve");
    std::ostringstream text;
    const auto exit =
        stategraph::inspect::runCommand(arguments, is_paged ? static_cast<std::ostream&>(text) : std::cout, std::cerr,
                                        {.open = {},
                                         .store = variable("STATEGRAPH_STORE"),
                                         .colour = is_terminal && variable("NO_COLOR").empty(),
                                         .columns = size.columns});
    const std::string shown = text.str();
    const auto lines = static_cast<std::size_t>(std::count(shown.begin(), shown.end(), '\n'));
    if (lines <= size.lines || !page(shown)) std::cout << shown;
    std::cout.flush();
    if (!std::cout) {
        std::cerr << "stategraph: the output could not be written\n";
        return static_cast<int>(stategraph::inspect::Exit::failed);
    }
    return static_cast<int>(exit);
}
