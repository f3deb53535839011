# The products next to the core, one row each. The target stategraph_NAME (for users stategraph::NAME), its option, its
# files, its component of the package and its tests are made of the row. A row comes after those that it builds on.
#
#   FOLDER     its sources; the name, unless another one is given
#   ROOMS      folders inside it that are parts of it too
#   HEADERS    its public headers below include/stategraph/, without .hpp; without HEADERS all of
#              include/stategraph/FOLDER/
#   PUBLIC     products, or `stategraph`, that its users link too; PRIVATE: targets that only its own files use
#   OPTION     the text of its option STATEGRAPH_WITH_NAME; without OPTION the product is always built
#   NEEDS      a package of the rows below: the option is on if it was found (and the options of PUBLIC products are),
#              and ON by hand requires it. Programs that use the installed component find it too
#   TESTS      which tests are left out without it: a regular expression for their paths
#   BUNDLED    a part of stategraph::stategraph, with a block of its own in CMakeLists.txt
set(STATEGRAPH_PRODUCTS "")
set(STATEGRAPH_COMPONENTS "") # of the package: the products that are not bundled

macro(stategraph_product name)
  cmake_parse_arguments(_row "BUNDLED" "FOLDER;OPTION;NEEDS;TESTS" "HEADERS;PUBLIC;PRIVATE;ROOMS" ${ARGN})
  if(_row_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "cmake/Products.cmake: the row of ${name} has ${_row_UNPARSED_ARGUMENTS}, which no column is called.")
  endif()
  if(NOT _row_FOLDER)
    set(_row_FOLDER ${name})
  endif()
  string(TOUPPER ${name} _NAME)
  list(APPEND STATEGRAPH_PRODUCTS ${name})
  if(NOT _row_BUNDLED)
    list(APPEND STATEGRAPH_COMPONENTS ${name})
  endif()
  foreach(_column IN ITEMS FOLDER HEADERS PUBLIC PRIVATE ROOMS OPTION NEEDS TESTS)
    set(_product_${name}_${_column} ${_row_${_column}})
  endforeach()
  if(_row_OPTION)
    set(_default ON)
    if(_row_NEEDS)
      if(NOT DEFINED STATEGRAPH_WITH_${_NAME} OR STATEGRAPH_WITH_${_NAME})
        stategraph_find_package(${_row_NEEDS})
      endif()
      stategraph_require_package(${_row_NEEDS} ${name} STATEGRAPH_WITH_${_NAME})
      string(TOUPPER ${_row_NEEDS} _NEEDS)
      set(_default ${STATEGRAPH_${_NEEDS}_FOUND})
    endif()
    foreach(_below IN LISTS _row_PUBLIC)
      if(DEFINED _product_${_below}_OPTION AND _product_${_below}_OPTION)
        string(TOUPPER ${_below} _BELOW)
        if(NOT STATEGRAPH_WITH_${_BELOW}) # each of them; the last one does not speak for the others
          set(_default OFF)
        endif()
      endif()
    endforeach()
    option(STATEGRAPH_WITH_${_NAME} "${_row_OPTION}" ${_default})
    foreach(_below IN LISTS _row_PUBLIC)
      string(TOUPPER ${_below} _BELOW)
      if(STATEGRAPH_WITH_${_NAME} AND DEFINED STATEGRAPH_WITH_${_BELOW} AND NOT STATEGRAPH_WITH_${_BELOW})
        message(FATAL_ERROR "STATEGRAPH_WITH_${_NAME} needs STATEGRAPH_WITH_${_BELOW}, which is off; set both or none.")
      endif()
    endforeach()
  else()
    set(STATEGRAPH_WITH_${_NAME} ON)
  endif()
endmacro()

# What products are built on; the columns are explained in cmake/Dependencies.cmake.
# RocksDB's package file asks for all that RocksDB itself links (gflags, snappy, zlib, bzip2, lz4, zstd); Debian's
# librocksdb-dev depends on their -dev packages, so it is enough. It has no file for pkg-config.
stategraph_package(rocksdb FIND RocksDB CONFIG TARGET RocksDB::rocksdb-shared CALLED "RocksDB" DEBIAN librocksdb-dev
  LIBS -lrocksdb)
# 3.37 has what storage/sqlite/ calls.
stategraph_package(sqlite FIND SQLite3 3.37 TARGET SQLite::SQLite3 CALLED "SQLite 3.37" DEBIAN libsqlite3-dev
  PKG_CONFIG sqlite3)
# libpq alone, which speaks with servers of other versions; 12 has what storage/postgres/ calls.
stategraph_package(postgres FIND PostgreSQL 12 TARGET PostgreSQL::PostgreSQL CALLED "PostgreSQL's libpq 12"
  DEBIAN libpq-dev PKG_CONFIG libpq)
set(_elsewhere "An OpenSSL elsewhere: -DOPENSSL_ROOT_DIR=<its prefix>.")
stategraph_package(
  openssl FIND OpenSSL 3.0 COMPONENTS Crypto TARGET OpenSSL::Crypto CALLED "OpenSSL 3" DEBIAN libssl-dev
  ELSEWHERE ${_elsewhere} PKG_CONFIG libcrypto)
stategraph_package(
  openssl_ssl FIND OpenSSL 3.0 COMPONENTS SSL Crypto TARGET OpenSSL::SSL CALLED "OpenSSL 3 with libssl"
  DEBIAN libssl-dev ELSEWHERE ${_elsewhere}
  PKG_CONFIG libssl libcrypto)
# JSON Schemas. Debian's package depends on some seventy others that these headers do not need, so the scripts unpack it
# into build/valijson.
stategraph_package(
  valijson HEADER valijson/validator.hpp PATHS "${PROJECT_SOURCE_DIR}/build/valijson/usr/include" CALLED "valijson"
  DEBIAN libvalijson-dev
  ELSEWHERE "Or unpack it and set VALIJSON_INCLUDE_DIR.")

# States, values and events as JSON; runs, streams and nodes as coroutines.
stategraph_product(json BUNDLED HEADERS json json_number json_schema ndjson shared_json partial partial_display
  partial_json detail/json_text)
stategraph_product(async BUNDLED HEADERS asio async stream_hub task detail/asio detail/async)
stategraph_product(
  rocksdb FOLDER storage/rocksdb HEADERS rocksdb_cache rocksdb_saver rocksdb_store
  PUBLIC core PRIVATE RocksDB::rocksdb-shared $<BUILD_INTERFACE:stategraph_xxhash>
  OPTION "Build stategraph::rocksdb, the saver on RocksDB" NEEDS rocksdb TESTS "/rocksdb[^/]*_test\\.cpp$")
stategraph_product(
  sqlite FOLDER storage/sqlite HEADERS sqlite_cache sqlite_saver sqlite_store
  PUBLIC core PRIVATE SQLite::SQLite3
  OPTION "Build stategraph::sqlite, saver, store and cache on SQLite" NEEDS sqlite TESTS "/sqlite[^/]*_test\\.cpp$")
stategraph_product(
  postgres FOLDER storage/postgres HEADERS leased_saver postgres_cache postgres_listener postgres_queue postgres_saver
  postgres_shards postgres_store sharded_queue
  PUBLIC core PRIVATE PostgreSQL::PostgreSQL
  OPTION "Build stategraph::postgres, saver, store and cache on PostgreSQL" NEEDS postgres
  TESTS "/postgres[^/]*_test\\.cpp$")
stategraph_product(
  worker HEADERS worker worker_main
  PUBLIC stategraph postgres
  OPTION "Build stategraph::worker, workers on a PostgreSQL queue" NEEDS postgres TESTS "/tests/worker/")
stategraph_product(
  encryption FOLDER storage/encrypted HEADERS encrypted_saver encrypted_store
  PUBLIC core PRIVATE OpenSSL::Crypto
  OPTION "Build stategraph::encryption, the saver that encrypts" NEEDS openssl TESTS "/encrypted[^/]*_test\\.cpp$")
stategraph_product(
  schema HEADERS schema
  PUBLIC stategraph PRIVATE Boost::json
  OPTION "Build stategraph::schema, checks by JSON Schemas from outside" NEEDS valijson
  TESTS "/(tests/schema/[^/]*|foreign_schema)_test\\.cpp$")
stategraph_product(workflow PUBLIC stategraph PRIVATE Boost::json)
stategraph_product(
  workflow_json FOLDER workflow/from_json HEADERS workflow/from_json
  PUBLIC workflow schema PRIVATE Boost::json
  OPTION "Build stategraph::workflow_json, workflows that are loaded from JSON" NEEDS valijson
  TESTS "/from_json_test\\.cpp$")
stategraph_product(model PUBLIC stategraph)
stategraph_product(
  model_http FOLDER model/http HEADERS model/openai model/anthropic model/responses model/http_options
  PUBLIC model PRIVATE Boost::json OpenSSL::SSL OpenSSL::Crypto
  OPTION "Build stategraph::model_http, models behind HTTP servers" NEEDS openssl_ssl TESTS "/tests/model/http/")
stategraph_product(agent PUBLIC model)
# It checks arguments by the servers' JSON Schemas where stategraph::schema is built.
set(_checks "")
if(STATEGRAPH_WITH_SCHEMA)
  set(_checks schema)
endif()
stategraph_product(
  mcp PUBLIC agent ${_checks} PRIVATE Boost::json
  OPTION "Build stategraph::mcp, tools of MCP servers" TESTS "/tests/mcp/")
stategraph_product(
  mcp_http FOLDER mcp/http HEADERS mcp/http
  PUBLIC mcp model_http PRIVATE Boost::json
  OPTION "Build stategraph::mcp_http, MCP servers behind HTTP" TESTS "/tests/mcp/http[^/]*_test\\.cpp$")
# Boost.Beast, which is among Boost's headers, makes it (and model_http) slow to compile.
stategraph_product(
  serve PUBLIC agent workflow PRIVATE Boost::json
  OPTION "Build stategraph::serve, graphs over HTTP" TESTS "/tests/serve/")
# With the program `stategraph` (inspect/program), which opens SQLite files and PostgreSQL databases too where these
# libraries are there.
set(_databases "")
foreach(_database IN ITEMS sqlite postgres)
  string(TOUPPER ${_database} _DATABASE)
  if(STATEGRAPH_WITH_${_DATABASE})
    list(APPEND _databases ${_database})
  endif()
endforeach()
stategraph_product(
  inspect ROOMS app http PUBLIC stategraph rocksdb serve ${_databases}
  OPTION "Build stategraph::inspect and the command stategraph" NEEDS rocksdb TESTS "/tests/inspect/")
