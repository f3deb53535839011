#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include <boost/json/object.hpp>

namespace advisor {

/// A client of the server, which runs on this machine.
class Client {
public:
    explicit Client(std::uint16_t port) : port_(port) {}

    /// Returns the body of an answer. Errors: std::runtime_error for a status other than 200;
    /// boost::system::system_error.
    std::string get(const std::string& target) const;
    std::string post(const std::string& target, const std::string& body) const;
    /// Calls `take` with each line of the answer as soon as it has arrived. Errors: as `get`.
    void postForLines(const std::string& target, const std::string& body,
                      const std::function<void(const boost::json::object& line)>& take) const;

private:
    std::uint16_t port_;
};

}  // namespace advisor
