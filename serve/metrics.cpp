#include "serve/metrics.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <exception>

namespace stategraph::serve {

namespace {

std::string numberOf(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
    char text[32];
    const int size = std::snprintf(text, sizeof text, "%.9g", value);
    return std::string(text, static_cast<std::size_t>(size));
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
    out.append("# HELP ").append(name).append(" ");
    for (const char c : help) {
        if (c == '\\' || c == '\n') out += '\\';
        out += c == '\n' ? 'n' : c;
    }
    out.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void line(std::string& out, std::string_view name, const std::string& labels, const std::string& value) {
    out.append(name);
    if (!labels.empty()) out.append("{").append(labels).append("}");
    out.append(" ").append(value).append("\n");
}

void gauge(std::string& out, std::string_view name, std::string_view help, double value) {
    head(out, name, "gauge", help);
    line(out, name, {}, numberOf(value));
}

/// The values of labels are names of operations, endpoints and such, which need no escapes.
std::string label(std::string_view name, std::string_view value) {
    return std::string(name) + "=\"" + std::string(value) + "\"";
}

bool isMetricName(std::string_view name) {
    const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
           std::ranges::all_of(name, fits);
}

}  // namespace

void Metrics::Histogram::add(Span took) noexcept {
    const double seconds = std::chrono::duration<double>(took).count();
    for (std::size_t i = 0; i < bounds.size(); ++i) {
        if (seconds <= bounds[i].first) ++buckets[i];
    }
    ++count;
    sum += seconds;
}

void Metrics::countRequest(std::string_view operation, int status, Span took) noexcept {
    try {
        std::string name(operation);
        const stategraph::detail::LockGuard lock(mutex_);
        request_times_[name].add(took);
        ++requests_[{std::move(name), status}];
    } catch (const std::exception&) {  // there is no memory
    }
}

void Metrics::countRun(const std::string& endpoint, std::string_view ending) noexcept {
    try {
        const stategraph::detail::LockGuard lock(mutex_);
        ++runs_[{endpoint, std::string(ending)}];
    } catch (const std::exception&) {
    }
}

void Metrics::countRefused(std::string_view limit) noexcept {
    try {
        const stategraph::detail::LockGuard lock(mutex_);
        ++refused_[std::string(limit)];
    } catch (const std::exception&) {
    }
}

void Metrics::countStore(std::string_view what, Span took) noexcept {
    try {
        const stategraph::detail::LockGuard lock(mutex_);
        store_times_[std::string(what)].add(took);
    } catch (const std::exception&) {
    }
}

void Metrics::write(std::string& out, const char* name, const char* key,
                    const std::map<std::string, Histogram>& table) {
    for (const auto& [value, times] : table) {
        const std::string series = label(key, value);
        for (std::size_t i = 0; i < bounds.size(); ++i) {
            line(out, std::string(name) + "_bucket", series + "," + label("le", bounds[i].second),
                 std::to_string(times.buckets[i]));
        }
        line(out, std::string(name) + "_bucket", series + "," + label("le", "+Inf"), std::to_string(times.count));
        line(out, std::string(name) + "_sum", series, numberOf(times.sum));
        line(out, std::string(name) + "_count", series, std::to_string(times.count));
    }
}

std::string Metrics::text(const Now& now, const std::vector<Gauge>& gauges) const {
    std::string out;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        head(out, "stategraph_requests_total", "counter", "Requests that were answered.");
        for (const auto& [key, count] : requests_) {
            line(out, "stategraph_requests_total",
                 label("operation", key.first) + "," + label("status", std::to_string(key.second)),
                 std::to_string(count));
        }
        head(out, "stategraph_request_duration_seconds", "histogram",
             "From the head of a request to the end of its response; a stream's response ends with the run.");
        write(out, "stategraph_request_duration_seconds", "operation", request_times_);
        head(out, "stategraph_runs_total", "counter", "Runs that requests began and that have ended.");
        for (const auto& [key, count] : runs_) {
            line(out, "stategraph_runs_total", label("endpoint", key.first) + "," + label("ending", key.second),
                 std::to_string(count));
        }
        head(out, "stategraph_refused_total", "counter", "Requests and connections beyond a limit.");
        for (const auto& [limit, count] : refused_)
            line(out, "stategraph_refused_total", label("limit", limit), std::to_string(count));
        head(out, "stategraph_store_duration_seconds", "histogram",
             "What stores took: put, for a checkpoint of a run; check, for a look of /ready.");
        write(out, "stategraph_store_duration_seconds", "what", store_times_);
    }
    gauge(out, "stategraph_runs", "Runs under way that requests began.", static_cast<double>(now.runs));
    gauge(out, "stategraph_connections", "Open connections.", static_cast<double>(now.connections));
    gauge(out, "stategraph_streams", "Responses that send events now.", static_cast<double>(now.streams));
    gauge(out, "stategraph_draining", "1 from the beginning of a drain.", now.is_draining ? 1 : 0);
    for (const Gauge& each : gauges) {
        if (isMetricName(each.name)) gauge(out, each.name, each.help, each.value);
    }
    return out;
}

}  // namespace stategraph::serve
