#pragma once

namespace bench {

/// What excludes other processes, on SQLite and PostgreSQL.
void registerEffects();

}  // namespace bench
