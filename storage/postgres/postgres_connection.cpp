#include "storage/postgres/postgres_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <poll.h>
#include <unistd.h>

// Uses only calls of libpq that do not block, and waits itself, so that every call ends in time.
namespace stategraph::checkpoint {
namespace {

// The server cancels the statement this long before this process would close the connection, because only the server
// knows what it has done.
constexpr auto grace = std::chrono::seconds(2);
// The server accepts no message of a gigabyte.
constexpr std::size_t request_bytes_max = 1'000'000'000;

std::chrono::milliseconds answerTime(const PostgresSettings& settings) {
    return settings.statement_timeout + std::min<std::chrono::milliseconds>(grace, settings.statement_timeout);
}

struct FreeOptions {
    void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

std::string valueOf(const PQconninfoOption* options, std::string_view keyword) {
    for (const PQconninfoOption* each = options; each && each->keyword; ++each) {
        if (each->keyword == keyword && each->val) return each->val;
    }
    return {};
}

std::string inMilliseconds(std::chrono::milliseconds time) { return std::to_string(time.count()) + " ms"; }

PostgresFailure failureOf(const PGresult* result, const PGconn* connection) {
    const auto field = [&](int code) {
        const char* const text = PQresultErrorField(result, code);
        return std::string(text ? text : "");
    };
    PostgresFailure failure{field(PG_DIAG_SQLSTATE), field(PG_DIAG_MESSAGE_PRIMARY)};
    if (failure.message.empty()) failure.message = PQerrorMessage(connection);
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): libpq names fields by letters
    for (const int code : {PG_DIAG_MESSAGE_DETAIL, PG_DIAG_MESSAGE_HINT}) {
        if (const std::string more = field(code); !more.empty()) failure.message += " (" + more + ")";
    }
    return failure;
}

// Returns whether the error ends the connection. It does if it is FATAL or PANIC, in any language of the server.
bool endsConnection(const PGresult* result) {
    const char* const severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    return severity && (std::string_view(severity) == "FATAL" || std::string_view(severity) == "PANIC");
}

std::string connectingAdvice(std::string_view said) {
    for (const std::string_view part : {"too many clients", "too many connections", "connection slots"}) {
        if (said.find(part) != std::string_view::npos)
            return "; raise the server's max_connections, or lower connections_max in the programs that use it";
    }
    return {};
}

// The server commits without its standbys if a person cancels a statement that waits for them, and says so only in this
// warning. The name of the function is in no language.
void noteWarning(void* is_unreplicated, const PGresult* warning) {
    const char* const function = PQresultErrorField(warning, PG_DIAG_SOURCE_FUNCTION);
    if (function && std::string_view(function) == "SyncRepWaitForLSN") *static_cast<bool*>(is_unreplicated) = true;
}

}  // namespace

std::string postgresPlace(const std::string& conninfo) {
    if (conninfo.find('\0') != std::string::npos)
        throw InvalidArgumentError("the conninfo of a PostgreSQL database has a byte of value 0; leave it out");
    char* error = nullptr;
    const Options given(PQconninfoParse(conninfo.c_str(), &error));
    const std::string why = error ? error : "out of memory";
    PQfreemem(error);
    if (!given)
        throw InvalidArgumentError(
            "the conninfo of a PostgreSQL database cannot be read: " + why.substr(0, why.find_last_not_of('\n') + 1) +
            "; write postgresql://USER@HOST/DATABASE or host=HOST dbname=DATABASE user=USER");
    const Options defaults(PQconndefaults());
    const auto value = [&](std::string_view keyword) {
        const std::string found = valueOf(given.get(), keyword);
        return found.empty() ? valueOf(defaults.get(), keyword) : found;
    };
    if (const std::string service = valueOf(given.get(), "service"); !service.empty())
        return "of the service '" + service + "'";
    std::string database = value("dbname");
    if (database.empty()) database = value("user");
    std::string host = value("host");
    if (host.empty()) host = value("hostaddr");
    return "'" + database + "' at " + (host.empty() ? "this computer" : host) + ":" + value("port");
}

std::chrono::milliseconds connectTime(const std::string& conninfo, std::chrono::milliseconds otherwise) {
    constexpr long most = 3600;
    const Options given(PQconninfoParse(conninfo.c_str(), nullptr));
    const std::string seconds = valueOf(given.get(), "connect_timeout");
    long number = 0;
    const auto [end, error] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), number);
    if (error != std::errc() || end != seconds.data() + seconds.size()) return otherwise;
    return std::chrono::seconds(number > 0 ? std::min(number, most) : most);
}

PostgresConnection::PostgresConnection(const PostgresErrors& errors, const PostgresSettings& settings,
                                       std::atomic<std::uint64_t>& round_trips)
    : errors_(errors), settings_(settings), round_trips_(round_trips), process_(::getpid()) {
    try {
        connect();
        prepareSession();
    } catch (...) {
        PQfinish(std::exchange(connection_, nullptr));
        throw;
    }
}

PostgresConnection::~PostgresConnection() {
    if (process_ == ::getpid()) PQfinish(connection_);
}

void PostgresConnection::connect() {
    PostgresHosts& hosts = *settings_.hosts;
    const std::size_t first = hosts.first();
    std::string failures;
    for (std::size_t i = 0; i < hosts.count(); ++i) {
        host_ = (first + i) % hosts.count();
        const std::string why = connectTo(host_);
        if (why.empty()) return hosts.noteWorking(host_);
        hosts.noteFailed(host_);
        PQfinish(std::exchange(connection_, nullptr));
        failures += (failures.empty() ? "" : "; ") + (hosts.count() > 1 ? hosts.nameOf(host_) + ": " : "") + why;
    }
    errors_.refuseOpening(failures);
}

std::string PostgresConnection::connectTo(std::size_t place) {
    const PostgresHosts::Host& host = (*settings_.hosts)[place];
    // What comes after the connection string counts instead of it, unless it is empty.
    const char* const names[] = {"dbname",          "host", "hostaddr", "port", "fallback_application_name",
                                 "client_encoding", nullptr};
    const char* const values[] = {settings_.conninfo.c_str(),
                                  host.host.c_str(),
                                  host.address.c_str(),
                                  host.port.c_str(),
                                  "stategraph",
                                  "UTF8",
                                  nullptr};
    deadline_ = Clock::now() + settings_.connect_timeout;
    ++round_trips_;
    connection_ = PQconnectStartParams(names, values, 1);
    if (!connection_) return "out of memory";
    PostgresPollingStatusType status =
        PQstatus(connection_) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
        if (!waitFor(status == PGRES_POLLING_READING ? POLLIN : POLLOUT))
            return "the server did not answer within " + inMilliseconds(settings_.connect_timeout) +
                   "; check the address, or raise connect_timeout";
        status = PQconnectPoll(connection_);
    }
    const std::string said = PQerrorMessage(connection_);
    if (status == PGRES_POLLING_FAILED) return said.substr(0, said.find_last_not_of('\n') + 1) + connectingAdvice(said);
    if (PQserverVersion(connection_) < 120000)
        return "its server has version " + std::to_string(PQserverVersion(connection_) / 10000) +
               "; use PostgreSQL 12 or newer";
    PQsetNoticeReceiver(connection_, noteWarning, &is_unreplicated_);
    if (PQsetnonblocking(connection_, 1) != 0) return PQerrorMessage(connection_);
    return {};
}

// Makes plans use the indexes, without regard to what the server knows about the sizes of tables. The server learns
// sizes late: a table that was empty when a plan was made would always be read from end to end.
void PostgresConnection::prepareSession() {
    if (!settings_.prepared_statements) return;  // a pooler gives the session to other clients
    (void)command(
        "SET plan_cache_mode=force_generic_plan; SET enable_seqscan=off; SET jit=off; "
        "SET client_min_messages=warning; SET statement_timeout=" +
            std::to_string(settings_.statement_timeout.count()) +
            (settings_.read_only ? "; SET default_transaction_read_only=on" : ""),
        "set up a connection");
}

bool PostgresConnection::isIdle() const noexcept {
    return connection_ && !is_lost_ && PQstatus(connection_) == CONNECTION_OK &&
           PQtransactionStatus(connection_) == PQTRANS_IDLE;
}

bool PostgresConnection::waitFor(short events) const {
    for (;;) {
        // After the deadline it looks once more: a process that was paused may find the answer there.
        const auto left = std::max(Clock::duration(0), deadline_ - Clock::now());
        const auto wait = std::min(std::chrono::ceil<std::chrono::milliseconds>(left), std::chrono::milliseconds(1000));
        pollfd poll{PQsocket(connection_), events, 0};
        const int count = ::poll(&poll, 1, static_cast<int>(wait.count()));
        if (count > 0 || (count < 0 && errno != EINTR)) return true;  // the next call reports an error
        if (count == 0 && left.count() == 0) return false;
    }
}

void PostgresConnection::lose(std::string_view work, const std::string& why) {
    is_lost_ = true;
    settings_.hosts->noteLost(host_);
    errors_.failLost(work, why);
}

void PostgresConnection::beginCall(std::string_view work) {
    if (is_lost_ || PQstatus(connection_) != CONNECTION_OK) lose(work, "the connection is broken");
    ++round_trips_;
    is_unreplicated_ = false;
    deadline_ = Clock::now() + answerTime(settings_);
}

void PostgresConnection::flush(std::string_view work) {
    for (;;) {
        const int left = PQflush(connection_);
        if (left < 0) lose(work, PQerrorMessage(connection_));
        if (left == 0) return;
        if (!waitFor(POLLIN | POLLOUT))
            lose(work, "the server accepted no more of it within " + inMilliseconds(answerTime(settings_)));
        // Reading prevents both sides from waiting for the other one to read.
        if (PQconsumeInput(connection_) == 0) lose(work, PQerrorMessage(connection_));
    }
}

void PostgresConnection::checkReplicated(std::string_view work) {
    if (is_unreplicated_)
        lose(work, "another session cancelled it while the server waited for its standbys, which may not have it");
}

PGresult* PostgresConnection::nextResult(std::string_view work) {
    while (PQisBusy(connection_) != 0) {
        if (!waitFor(POLLIN)) lose(work, "no answer came within " + inMilliseconds(answerTime(settings_)));
        if (PQconsumeInput(connection_) == 0) lose(work, PQerrorMessage(connection_));
    }
    return PQgetResult(connection_);
}

// Reads all results, because otherwise the connection could not be used again.
PostgresResult PostgresConnection::finish(std::string_view work,
                                          const std::function<void(const PostgresResult&)>* take) {
    PostgresResult last;
    std::optional<PostgresFailure> failure;
    std::exception_ptr thrown;
    while (PGresult* const raw = nextResult(work)) {
        PostgresResult result(raw);
        switch (PQresultStatus(raw)) {
            case PGRES_SINGLE_TUPLE:
                if (!take || thrown) break;
                try {
                    (*take)(result);
                } catch (...) {
                    thrown = std::current_exception();
                }
                break;
            case PGRES_TUPLES_OK:
            case PGRES_COMMAND_OK:
                last = std::move(result);
                break;
            default:
                if (endsConnection(raw)) lose(work, failureOf(raw, connection_).message);
                if (!failure) failure = failureOf(raw, connection_);
        }
        if (PQstatus(connection_) != CONNECTION_OK) lose(work, PQerrorMessage(connection_));
    }
    if (failure) errors_.failCall(*failure, work);
    checkReplicated(work);
    if (thrown) std::rethrow_exception(thrown);
    return last;
}

void PostgresConnection::prepare(const PostgresStatement& statement, std::string_view work) {
    if (prepared_.contains(statement.name)) return;
    beginCall(work);
    if (PQsendPrepare(connection_, statement.name.c_str(), statement.sql.c_str(),
                      static_cast<int>(statement.types.size()), statement.types.data()) == 0)
        lose(work, PQerrorMessage(connection_));
    flush(work);
    (void)finish(work, nullptr);
    prepared_.insert(statement.name);
}

void PostgresConnection::checkSize(const PostgresParameters& parameters, std::string_view work) const {
    if (parameters.size() <= request_bytes_max) return;
    errors_.fail("could not " + std::string(work) + ": it has " + std::to_string(parameters.size()) +
                 " bytes, and PostgreSQL takes at most " + std::to_string(request_bytes_max) + " at once");
}

void PostgresConnection::queue(const PostgresStatement& statement, const PostgresParameters& parameters,
                               std::string_view work) {
    const int sent =
        settings_.prepared_statements
            ? PQsendQueryPrepared(connection_, statement.name.c_str(), parameters.count(), parameters.values(),
                                  parameters.lengths(), parameters.formats(), 1)
            : PQsendQueryParams(connection_, statement.sql.c_str(), parameters.count(), statement.types.data(),
                                parameters.values(), parameters.lengths(), parameters.formats(), 1);
    if (sent == 0) lose(work, PQerrorMessage(connection_));
}

void PostgresConnection::send(const PostgresStatement& statement, const PostgresParameters& parameters,
                              std::string_view work) {
    checkSize(parameters, work);
    if (settings_.prepared_statements) prepare(statement, work);
    beginCall(work);
    queue(statement, parameters, work);
}

void PostgresConnection::finishStep(std::string_view work, PostgresResult& result,
                                    std::optional<PostgresFailure>& failure) {
    while (PGresult* const raw = nextResult(work)) {
        PostgresResult each(raw);
        const ExecStatusType status = PQresultStatus(raw);
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
            result = std::move(each);
        } else if (status != PGRES_PIPELINE_ABORTED) {
            if (endsConnection(raw)) lose(work, failureOf(raw, connection_).message);
            if (!failure) failure = failureOf(raw, connection_);
        }
        if (PQstatus(connection_) != CONNECTION_OK) lose(work, PQerrorMessage(connection_));
    }
}

std::vector<PostgresResult> PostgresConnection::runAll(std::span<const Step> steps, std::string_view work) {
    for (const Step& step : steps) {
        checkSize(step.parameters, work);
        if (settings_.prepared_statements) prepare(step.statement, work);
    }
    std::vector<PostgresResult> results(steps.size());
    beginCall(work);
    if (PQenterPipelineMode(connection_) == 0) lose(work, PQerrorMessage(connection_));
    for (const Step& step : steps) queue(step.statement, step.parameters, work);
    if (PQpipelineSync(connection_) == 0) lose(work, PQerrorMessage(connection_));
    flush(work);
    std::optional<PostgresFailure> failure;
    for (PostgresResult& result : results) finishStep(work, result, failure);
    const PostgresResult end(nextResult(work));
    if (PQexitPipelineMode(connection_) == 0) lose(work, PQerrorMessage(connection_));
    if (failure) errors_.failCall(*failure, work);
    checkReplicated(work);
    return results;
}

PostgresResult PostgresConnection::run(const PostgresStatement& statement, const PostgresParameters& parameters,
                                       std::string_view work) {
    send(statement, parameters, work);
    flush(work);
    return finish(work, nullptr);
}

void PostgresConnection::stream(const PostgresStatement& statement, const PostgresParameters& parameters,
                                std::string_view work, const std::function<void(const PostgresResult&)>& take) {
    send(statement, parameters, work);
    if (PQsetSingleRowMode(connection_) == 0) lose(work, PQerrorMessage(connection_));
    flush(work);
    (void)finish(work, &take);
}

std::vector<std::string> PostgresConnection::notifications(int stop, std::chrono::milliseconds time) {
    constexpr std::string_view work = "wait for notifications";
    std::vector<std::string> texts;
    const auto take = [&] {
        while (PGnotify* const each = PQnotifies(connection_)) {
            texts.emplace_back(each->extra);
            PQfreemem(each);
        }
    };
    if (is_lost_ || PQstatus(connection_) != CONNECTION_OK) lose(work, "the connection is broken");
    take();
    if (!texts.empty()) return texts;
    pollfd polls[] = {{PQsocket(connection_), POLLIN, 0}, {stop, POLLIN, 0}};
    if (::poll(polls, 2, static_cast<int>(time.count())) <= 0 || polls[0].revents == 0) return texts;
    if (PQconsumeInput(connection_) == 0) lose(work, PQerrorMessage(connection_));
    take();
    return texts;
}

// One transaction, also through a pooler. It must write to the server's log, or its commit would wait for nothing.
void PostgresConnection::makeDurable(std::string_view work) {
    (void)command("SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'stategraph', '')", work);
}

PostgresResult PostgresConnection::command(const std::string& sql, std::string_view work) {
    beginCall(work);
    if (PQsendQuery(connection_, sql.c_str()) == 0) lose(work, PQerrorMessage(connection_));
    flush(work);
    return finish(work, nullptr);
}

}  // namespace stategraph::checkpoint
