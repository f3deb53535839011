#include <doctest/doctest.h>

#include <boost/json.hpp>

#include <stategraph/answer.hpp>
#include <stategraph/inspect/server.hpp>
#include <stategraph/memory_saver.hpp>

#include "tests/inspect/inspected_api.hpp"

