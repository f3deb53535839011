# What stategraph is built on. Every missing piece stops with one sentence that names it and its Debian package.

if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW) # Boost's own package file; CMake's FindBoost is on its way out.
endif()

find_package(Threads REQUIRED)

find_package(Boost 1.81 QUIET COMPONENTS json)
if(NOT Boost_FOUND OR NOT TARGET Boost::json)
  message(
    FATAL_ERROR
      "stategraph needs Boost 1.81 or newer with Boost.JSON, and none was found. "
      "On Debian 12: apt-get install libboost-json1.81-dev (it replaces the headers of Boost 1.74, if those are installed; "
      "./scripts/quickstart.sh and ./scripts/test.sh put it beside them instead). "
      "A Boost elsewhere: -DCMAKE_PREFIX_PATH=<its prefix>.")
endif()

# xxHash is used as a header (a .cpp that wants it defines XXH_INLINE_ALL), by the library's own files only.
find_path(XXHASH_INCLUDE_DIR xxhash.h DOC "The folder of xxhash.h")
mark_as_advanced(XXHASH_INCLUDE_DIR)
if(NOT XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "stategraph needs xxhash.h to build, and it was not found. On Debian: apt-get install libxxhash-dev. "
                      "Elsewhere: -DXXHASH_INCLUDE_DIR=<the folder of xxhash.h>.")
endif()
add_library(stategraph_xxhash INTERFACE)
target_include_directories(stategraph_xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")

# RocksDB's package file asks for all that RocksDB itself links (gflags, snappy, zlib, bzip2, lz4, zstd); Debian's
# librocksdb-dev depends on their -dev packages, so it is enough.
if(NOT DEFINED STATEGRAPH_WITH_ROCKSDB OR STATEGRAPH_WITH_ROCKSDB)
  find_package(RocksDB CONFIG QUIET)
endif()
if(RocksDB_FOUND AND TARGET RocksDB::rocksdb-shared)
  set(STATEGRAPH_ROCKSDB_FOUND ON)
else()
  set(STATEGRAPH_ROCKSDB_FOUND OFF)
  if(NOT DEFINED STATEGRAPH_WITH_ROCKSDB)
    message(STATUS "RocksDB was not found: stategraph::rocksdb is left out (Debian: apt-get install librocksdb-dev)")
  endif()
endif()

function(stategraph_require_rocksdb)
  if(NOT STATEGRAPH_ROCKSDB_FOUND)
    message(FATAL_ERROR "STATEGRAPH_WITH_ROCKSDB is on, and RocksDB (with its shared library and CMake package) was not found. "
                        "On Debian: apt-get install librocksdb-dev. Without it: -DSTATEGRAPH_WITH_ROCKSDB=OFF.")
  endif()
endfunction()

# SQLite: 3.37 has what storage/sqlite/ calls.
if(NOT DEFINED STATEGRAPH_WITH_SQLITE OR STATEGRAPH_WITH_SQLITE)
  find_package(SQLite3 3.37 QUIET)
endif()
if(SQLite3_FOUND AND TARGET SQLite::SQLite3)
  set(STATEGRAPH_SQLITE_FOUND ON)
else()
  set(STATEGRAPH_SQLITE_FOUND OFF)
  if(NOT DEFINED STATEGRAPH_WITH_SQLITE)
    message(STATUS "SQLite 3.37 was not found: stategraph::sqlite is left out (Debian: apt-get install libsqlite3-dev)")
  endif()
endif()

function(stategraph_require_sqlite)
  if(NOT STATEGRAPH_SQLITE_FOUND)
    message(FATAL_ERROR "STATEGRAPH_WITH_SQLITE is on, and SQLite 3.37 was not found. On Debian: apt-get install libsqlite3-dev. "
                        "Without it: -DSTATEGRAPH_WITH_SQLITE=OFF.")
  endif()
endfunction()

# PostgreSQL: libpq alone, which speaks with servers of other versions; 12 has what storage/postgres/ calls.
if(NOT DEFINED STATEGRAPH_WITH_POSTGRES OR STATEGRAPH_WITH_POSTGRES)
  find_package(PostgreSQL 12 QUIET)
endif()
if(PostgreSQL_FOUND AND TARGET PostgreSQL::PostgreSQL)
  set(STATEGRAPH_POSTGRES_FOUND ON)
else()
  set(STATEGRAPH_POSTGRES_FOUND OFF)
  if(NOT DEFINED STATEGRAPH_WITH_POSTGRES)
    message(STATUS "PostgreSQL's libpq 12 was not found: stategraph::postgres is left out (Debian: apt-get install libpq-dev)")
  endif()
endif()

function(stategraph_require_postgres)
  if(NOT STATEGRAPH_POSTGRES_FOUND)
    message(FATAL_ERROR "STATEGRAPH_WITH_POSTGRES is on, and PostgreSQL's libpq 12 was not found. On Debian: apt-get install libpq-dev. "
                        "Without it: -DSTATEGRAPH_WITH_POSTGRES=OFF.")
  endif()
endfunction()

# The saver that encrypts: OpenSSL's libcrypto alone. Models over HTTP: its libssl too.
if(NOT DEFINED STATEGRAPH_WITH_ENCRYPTION OR STATEGRAPH_WITH_ENCRYPTION OR NOT DEFINED STATEGRAPH_WITH_MODEL_HTTP
   OR STATEGRAPH_WITH_MODEL_HTTP)
  find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto OPTIONAL_COMPONENTS SSL)
endif()
if(OpenSSL_FOUND AND TARGET OpenSSL::Crypto)
  set(STATEGRAPH_OPENSSL_FOUND ON)
else()
  set(STATEGRAPH_OPENSSL_FOUND OFF)
  if(NOT DEFINED STATEGRAPH_WITH_ENCRYPTION)
    message(STATUS "OpenSSL 3 was not found: stategraph::encryption is left out (Debian: apt-get install libssl-dev)")
  endif()
endif()

function(stategraph_require_openssl)
  if(NOT STATEGRAPH_OPENSSL_FOUND)
    message(FATAL_ERROR "STATEGRAPH_WITH_ENCRYPTION is on, and OpenSSL 3 was not found. On Debian: apt-get install libssl-dev. "
                        "Without it: -DSTATEGRAPH_WITH_ENCRYPTION=OFF. An OpenSSL elsewhere: -DOPENSSL_ROOT_DIR=<its prefix>.")
  endif()
endfunction()

if(STATEGRAPH_OPENSSL_FOUND AND TARGET OpenSSL::SSL)
  set(STATEGRAPH_OPENSSL_SSL_FOUND ON)
else()
  set(STATEGRAPH_OPENSSL_SSL_FOUND OFF)
  if(NOT DEFINED STATEGRAPH_WITH_MODEL_HTTP)
    message(STATUS "OpenSSL 3 with libssl was not found: stategraph::model_http is left out (Debian: apt-get install libssl-dev)")
  endif()
endif()

function(stategraph_require_openssl_ssl)
  if(NOT STATEGRAPH_OPENSSL_SSL_FOUND)
    message(FATAL_ERROR "STATEGRAPH_WITH_MODEL_HTTP is on, and OpenSSL 3 with libssl was not found. On Debian: apt-get install libssl-dev. "
                        "Without it: -DSTATEGRAPH_WITH_MODEL_HTTP=OFF. An OpenSSL elsewhere: -DOPENSSL_ROOT_DIR=<its prefix>.")
  endif()
endfunction()

# JSON Schemas: valijson, headers that the library's own files use. Debian's package depends on some seventy others that they do not need, so
# the scripts unpack it into build/valijson.
find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp PATHS "${PROJECT_SOURCE_DIR}/build/valijson/usr/include" DOC "The folder of valijson/")
mark_as_advanced(VALIJSON_INCLUDE_DIR)
if(VALIJSON_INCLUDE_DIR)
  set(STATEGRAPH_VALIJSON_FOUND ON)
else()
  set(STATEGRAPH_VALIJSON_FOUND OFF)
  if(NOT DEFINED STATEGRAPH_WITH_SCHEMA)
    message(STATUS "valijson was not found: stategraph::schema and stategraph::workflow_json are left out (Debian: libvalijson-dev)")
  endif()
endif()

function(stategraph_require_valijson option)
  if(NOT STATEGRAPH_VALIJSON_FOUND)
    message(FATAL_ERROR "${option} is on, and valijson was not found. On Debian: apt-get install libvalijson-dev, or "
                        "unpack it and set VALIJSON_INCLUDE_DIR. Without it: -DSTATEGRAPH_WITH_SCHEMA=OFF -DSTATEGRAPH_WITH_WORKFLOW_JSON=OFF.")
  endif()
endfunction()
