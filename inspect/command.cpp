#include <stategraph/inspect/command.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/version.hpp>

#include "inspect/commands.hpp"

#define STATEGRAPH_TEXT_OF(number) #number
#define STATEGRAPH_TEXT(number) STATEGRAPH_TEXT_OF(number)

namespace stategraph::inspect {
namespace {

constexpr const char* version_text = STATEGRAPH_TEXT(STATEGRAPH_VERSION_MAJOR) "." STATEGRAPH_TEXT(
    STATEGRAPH_VERSION_MINOR) "." STATEGRAPH_TEXT(STATEGRAPH_VERSION_PATCH);

const Command* find(std::string_view name) {
    const auto found = std::ranges::find(commands(), name, &Command::name);
    return found == commands().end() ? nullptr : &*found;
}

std::string noSuchCommand(const std::string& name) {
    std::vector<std::string_view> known{"help", "completion", "version"};
    for (const Command& command : commands()) known.push_back(command.name);
    return "there is no command '" + name + "': " + adviceOn(name, known) + "'stategraph help' lists them";
}

void printUsage(std::ostream& out, const Command& command) {
    out << "stategraph " << command.name << (command.arguments.empty() ? "" : " ") << command.arguments << "\n    "
        << command.text << '\n';
}

void printHelp(std::ostream& out) {
    out << "stategraph COMMAND [ARGUMENTS]: threads of a store, read without the program that made them.\n\n";
    for (const Command& command : commands()) printUsage(out, command);
    out << "\nA checkpoint is THREAD (the newest), THREAD@STEP, THREAD@ID or THREAD@~N (N before the newest).\n"
           "--store PATH     the database: a RocksDB folder; a SQLite file; postgresql://USER@HOST/DATABASE,\n"
           "                 with #SCHEMA after it for another schema than stategraph; a file that export\n"
           "                 wrote (.ndjson); or the address that the inspector of a running program\n"
           "                 printed, which shows threads in memory and encrypted ones too. Without\n"
           "                 --store: STATEGRAPH_STORE, this folder if it is a database, or checkpoints\n"
           "--ns NAMESPACE   the log of a subgraph, for commands that read a log\n"
           "--json           the same as JSON\n"
           "--version        the version of this program\n"
           "Exit codes: 0 done; 1 not found, or diff and check found something; 2 wrong arguments; 3 the store\n"
           "cannot be read.\n";
}

// The script is for bash: source <(stategraph completion)
void printCompletion(std::ostream& out) {
    out << "_stategraph() {\n  local word=${COMP_WORDS[COMP_CWORD]}\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "    COMPREPLY=($(compgen -W \"";
    for (const Command& command : commands()) out << command.name << ' ';
    out << "help completion version\" -- \"$word\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
    for (const Command& command : commands()) {
        out << "  " << command.name << ") COMPREPLY=($(compgen -W \"--store --json";
        for (const auto flag : command.accepts.flags) out << ' ' << flag;
        for (const auto value : command.accepts.values) out << ' ' << value;
        out << "\" -- \"$word\")) ;;\n";
    }
    out << "  esac\n  if [[ $word != -* ]]; then COMPREPLY=(); compopt -o default; fi\n}\ncomplete -F _stategraph "
           "stategraph\n";
}

Exit run(std::span<const std::string> words, std::ostream& out, std::ostream& error, const CommandOptions& options) {
    if (words.empty() || words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
        const Command* const about = words.size() > 1 ? find(words[1]) : nullptr;
        if (words.size() > 1 && about == nullptr && words[1] != "help") throw UsageError{noSuchCommand(words[1])};
        if (about != nullptr) {
            printUsage(out, *about);
        } else {
            printHelp(words.empty() ? error : out);
        }
        return words.empty() ? Exit::usage : Exit::done;
    }
    if (words[0] == "--version" || words[0] == "version") {
        out << "stategraph " << version_text << '\n';
        return Exit::done;
    }
    if (words[0] == "completion") {
        printCompletion(out);
        return Exit::done;
    }
    const Command* const command = find(words[0]);
    if (command == nullptr) throw UsageError{noSuchCommand(words[0])};
    const Arguments arguments(words.subspan(1), command->accepts, command->name);
    if (arguments.has("--help")) {
        printUsage(out, *command);
        return Exit::done;
    }
    Terminal terminal(out, options.colour && !arguments.has("--json"), options.columns);
    const bool for_writing = (command->writes && !arguments.has("--dry-run")) || arguments.has("--write");
    const auto saver = openStore(arguments, options, for_writing, command->follows);
    Call call{arguments, *saver,
              terminal,  options.in != nullptr ? *options.in : std::cin,
              saver,     storeName(arguments, options)};
    return command->run(call);
}

}  // namespace

// This function is longer than others because it is the table of all commands.
std::span<const Command> commands() {
    static const std::array<Command, 21> all = {{
        {"ls",
         "[STORE] [--status STATUS] [--since 1h] [--text TEXT] [--metadata NAME=VALUE] [--limit N]",
         "Lists threads, the newest first: status, age, step, what is due, questions, errors.",
         {.places_max = 1,
          .values = {"--status", "--since", "--text", "--metadata", "--limit"},
          .place_is_store = true},
         listThreads},
        {"log",
         "THREAD [--graph] [--node NODE] [--status STATUS] [--text TEXT] [--limit N]",
         "Lists a thread's checkpoints, the newest first: what ran, how long, what it wrote, what is due;\n"
         "    --graph draws its branches, the others select.",
         {.places_min = 1,
          .places_max = 1,
          .flags = {"--graph"},
          .values = {"--node", "--status", "--text", "--limit", "--ns"}},
         showLog},
        {"chart",
         "CHECKPOINT",
         "Shows when the tasks of the run that led to a checkpoint ran, with subgraphs, attempts and waits.",
         {.places_min = 1, .places_max = 1, .values = {"--ns"}},
         showChart},
        {"show",
         "CHECKPOINT [--channel C] [--path /a/0] [--from N] [--count N] [--subgraphs]",
         "Shows a checkpoint: tasks, questions, errors, values; or a page of one value.",
         {.places_min = 1,
          .places_max = 1,
          .flags = {"--subgraphs"},
          .values = {"--channel", "--path", "--from", "--count", "--ns"}},
         showCheckpoint},
        {"diff",
         "CHECKPOINT [CHECKPOINT]",
         "Shows what a checkpoint changed, or what differs between two.",
         {.places_min = 1, .places_max = 2, .values = {"--ns"}},
         showDifference},
        {"why",
         "CHECKPOINT [TASK]",
         "Says what made the tasks of a checkpoint due.",
         {.places_min = 1, .places_max = 2, .values = {"--ns"}},
         showCauses},
        {"blame",
         "CHECKPOINT CHANNEL [--limit N]",
         "Says which tasks wrote a channel, back to the first.",
         {.places_min = 2, .places_max = 2, .values = {"--limit", "--ns"}},
         showWriters},
        {"find",
         "CHECKPOINT CONDITION [--limit N]",
         "Shows the first step on the way to a checkpoint at which a condition over the state holds, such as 'total < "
         "0' or 'size(log) > 3 and not paid', with the values before and after.",
         {.places_min = 2, .places_max = 2, .values = {"--limit", "--ns"}},
         findStep},
        {"graph",
         "CHECKPOINT",
         "Shows the graph that made a checkpoint, as it was then.",
         {.places_min = 1, .places_max = 1, .values = {"--ns"}},
         showGraph},
        {"stats",
         "[THREAD] [--threads] [--largest N]",
         "Counts bytes: by kind, by channel, with --threads and --json by thread, with --largest of the largest "
         "threads.",
         {.places_min = 0, .places_max = 1, .flags = {"--threads"}, .values = {"--largest"}},
         showStats},
        {"check",
         "[STORE] [--graph FILE [--lost-channels] | --app ADDRESS [--name GRAPH]]",
         "Reads every record, and lists the threads that are damaged; with --graph, the threads that a new version of "
         "a program could not resume, of whose graph FILE has the description; with --app, those that the program "
         "that runs at ADDRESS could not resume; without STORE it checks its own.",
         {.places_max = 1,
          .flags = {"--lost-channels"},
          .values = {"--graph", "--app", "--name"},
          .place_is_store = true},
         checkStore},
        {"answer",
         "THREAD [QUESTION] VALUE",
         "Stores the answer to a question, named by its id or key; the program takes it when it resumes the thread.",
         {.places_min = 2, .places_max = 3},
         answerQuestion,
         true},
        {"fork",
         "CHECKPOINT [--note TEXT]",
         "Makes a copy of a checkpoint the thread's newest; the program continues from there when it resumes the "
         "thread.",
         {.places_min = 1, .places_max = 1, .values = {"--note"}},
         forkThread,
         true},
        {"edit",
         "CHECKPOINT CHANNEL=VALUE... [--as NODE] [--name GRAPH] | --raw [--any-kind] [--note TEXT]",
         "Has the running program write channels as a node would, through its reducers and types, as a new checkpoint; "
         "--raw sets them without the program, in a fork, if the values are of the stored kinds or with --any-kind.",
         {.places_min = 2,
          .places_max = 64,
          .flags = {"--raw", "--any-kind"},
          .values = {"--as", "--name", "--note", "--ns"}},
         editThread,
         true},
        {"run",
         "CHECKPOINT [--input JSON] [--next] [--before NODE]... [--after NODE]... [--name GRAPH]",
         "Has the running program resume a thread, replay it from a checkpoint, or run it with an input, and waits "
         "until it stops; --next: after one superstep; --before, --after: at a breakpoint before or after a node.",
         {.places_min = 1,
          .places_max = 1,
          .flags = {"--next"},
          .values = {"--input", "--name", "--before", "--after"}},
         runThread,
         true},
        {"export",
         "THREAD [FILE] [--trace]",
         "Writes a thread, every namespace, as lines of JSON; --trace: when its supersteps and tasks ran, as a trace "
         "that Perfetto and Chrome open.",
         {.places_min = 1, .places_max = 2, .flags = {"--trace"}},
         exportRows},
        {"import",
         "[FILE] [--as THREAD] [--create]",
         "Stores a thread that export wrote.",
         {.places_min = 0, .places_max = 1, .flags = {"--create"}, .values = {"--as"}},
         importRows,
         true},
        {"prune",
         "[THREAD] [--keep-last N] [--older-than 30d] [--unused 90d] [--dry-run]",
         "Drops old checkpoints, or whole threads that are unused; --dry-run says how many.",
         {.places_min = 0,
          .places_max = 1,
          .flags = {"--dry-run"},
          .values = {"--keep-last", "--older-than", "--unused"}},
         pruneThreads,
         true},
        {"rm",
         "THREAD [--dry-run]",
         "Deletes a thread with the logs of its subgraphs; --dry-run says what that removes.",
         {.places_min = 1, .places_max = 1, .flags = {"--dry-run"}},
         removeThread,
         true},
        {"serve",
         "[STORE] [--port N] [--write] [--redact PATTERN,PATTERN] [--key KEY | --key-file FILE]",
         "Serves a page over the store on this machine, and prints its address. --write lets it store answers and "
         "forks, for which no other process may have the database open. The first line of FILE is the key of the "
         "address, or STATEGRAPH_INSPECTOR_KEY of the environment.",
         {.places_max = 1,
          .flags = {"--write"},
          .values = {"--port", "--redact", "--key", "--key-file"},
          .place_is_store = true},
         serveStore,
         false,
         true},
        {"queue",
         "[retry|cancel|release|set-aside THREAD|SELECTION [--reason TEXT] [--dry-run]] | [limit QUEUE [--runs N] "
         "[--rate N]] | [--standing S] [--limit N] [--prometheus]",
         "Shows the queue of a PostgreSQL database: how many threads are ready, leased, set aside …, which workers are "
         "alive, and why each thread is where it is; or lets workers try a thread again, cancels it, takes it from its "
         "worker, or sets it aside, and so all threads of a selection: --queue Q, --graph G, --worker W, --standing S, "
         "--error TEXT, --metadata NAME=VALUE, --begin TEXT, --since 1h, --unchanged 1h, or --all; --dry-run says "
         "which. 'limit' sets how many threads of a queue all workers together run at once, and claim a second.",
         {.places_max = 2,
          .flags = {"--prometheus", "--all", "--dry-run"},
          .values = {"--reason", "--standing", "--limit", "--queue", "--graph", "--worker", "--error", "--metadata",
                     "--begin", "--since", "--unchanged", "--runs", "--rate"}},
         showQueue,
         true},
    }};
    return all;
}

Exit runCommand(std::span<const std::string> arguments, std::ostream& out, std::ostream& error,
                const CommandOptions& options) {
    try {
        return run(arguments, out, error, options);
    } catch (const UsageError& usage) {
        error << "stategraph: " << plain(usage.text) << '\n';
        return Exit::usage;
    } catch (const NotFound& nothing) {
        error << "stategraph: " << plain(nothing.text) << '\n';
        return Exit::no;
    } catch (const UnknownInterruptError& unknown) {
        error << "stategraph: " << plain(unknown.what()) << '\n';
        return Exit::no;
    } catch (const InvalidArgumentError& wrong) {
        error << "stategraph: " << plain(wrong.what()) << '\n';
        return Exit::usage;
    } catch (const std::exception& failed) {
        error << "stategraph: " << plain(failed.what()) << '\n';
        return Exit::failed;
    }
}

}  // namespace stategraph::inspect
