#pragma once
#include <stategraph/saver_rules.hpp>
