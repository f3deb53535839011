#include "mcp/child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stategraph::mcp::detail {

namespace {

[[noreturn]] void failWith(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

/// Returns the descriptor under a number that is not one of the three standard ones, which posix_spawn assigns.
int aboveStandard(int fd) {
    if (fd > 2) return fd;
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    const int error = errno;
    ::close(fd);
    if (moved < 0) failWith(error, "a pipe cannot be made");
    return moved;
}

class SpawnActions {
public:
    SpawnActions() {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
    }
    SpawnActions(const SpawnActions&) = delete;
    SpawnActions& operator=(const SpawnActions&) = delete;
    ~SpawnActions() {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

std::vector<std::string> environmentOf(const ProcessOptions& options) {
    std::vector<std::string> variables;
    for (const std::string& name : options.inherited) {
        const bool is_set = std::any_of(options.environment.begin(), options.environment.end(),
                                        [&](const auto& variable) { return variable.first == name; });
        const char* const value = std::getenv(name.c_str());
        if (value != nullptr && !is_set) variables.push_back(name + "=" + value);
    }
    for (const auto& [name, value] : options.environment) variables.push_back(name + "=" + value);
    return variables;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

void Descriptor::close() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

void makePipe(Descriptor& reading, Descriptor& writing) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) failWith(errno, "a pipe cannot be made");
    writing.reset(ends[1]);
    reading.reset(aboveStandard(ends[0]));
    const int other = writing.get();
    if (other <= 2) {
        const int moved = ::fcntl(other, F_DUPFD_CLOEXEC, 3);
        if (moved < 0) failWith(errno, "a pipe cannot be made");
        writing.reset(moved);
    }
}

void makeNonBlocking(const Descriptor& descriptor) {
    const int flags = ::fcntl(descriptor.get(), F_GETFL);
    if (flags < 0 || ::fcntl(descriptor.get(), F_SETFL, flags | O_NONBLOCK) < 0)
        failWith(errno, "a pipe cannot be made");
}

Child::Child(const ProcessOptions& options) {
    Descriptor its_in;
    Descriptor its_out;
    Descriptor its_err;
    makePipe(its_in, in);
    makePipe(out, its_out);
    makePipe(err, its_err);
    for (const Descriptor* own : {&in, &out, &err}) makeNonBlocking(*own);

    SpawnActions spawn;
    ::posix_spawn_file_actions_adddup2(&spawn.actions, its_in.get(), 0);
    ::posix_spawn_file_actions_adddup2(&spawn.actions, its_out.get(), 1);
    ::posix_spawn_file_actions_adddup2(&spawn.actions, its_err.get(), 2);
    // Listeners, connections and files of this process are none of the program's business.
    ::posix_spawn_file_actions_addclosefrom_np(&spawn.actions, 3);
    if (!options.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&spawn.actions, options.folder.c_str());
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&spawn.attributes, &signals);
    for (const int number : {SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&signals, number);
    ::posix_spawnattr_setsigdefault(&spawn.attributes, &signals);
    ::posix_spawnattr_setpgroup(&spawn.attributes, 0);
    ::posix_spawnattr_setflags(&spawn.attributes,
                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> arguments{options.command};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    std::vector<std::string> variables = environmentOf(options);
    const int error = ::posix_spawnp(&process_, options.command.c_str(), &spawn.actions, &spawn.attributes,
                                     pointersTo(arguments).data(), pointersTo(variables).data());
    if (error != 0) {
        process_ = -1;
        failWith(error, "the program '" + options.command + "' cannot be started" +
                            (options.folder.empty() ? "" : " in the folder '" + options.folder + "'"));
    }
#ifdef SYS_pidfd_open
    exit_.reset(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
#endif
}

bool Child::hasExited() noexcept {
    if (has_exited_ || process_ < 0) return true;
    siginfo_t info{};
    const int found = ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (found == 0 && info.si_pid == 0) return false;
    has_exited_ = true;  // also if the program ignores SIGCHLD, so that nothing is known of the process
    code_ = info.si_status;
    was_killed_ = found == 0 && info.si_code != CLD_EXITED;
    return true;
}

std::string Child::fate() noexcept {
    if (!hasExited()) return "is still running";
    return (was_killed_ ? "was killed by signal " : "exited with code ") + std::to_string(code_);
}

void Child::signal(int number) noexcept {
    if (process_ > 0) ::kill(-process_, number);
}

void Child::end() noexcept {
    if (process_ <= 0) return;
    in.close();
    signal(SIGKILL);  // before it is reaped: until then no other group can have its number
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
}

}  // namespace stategraph::mcp::detail
