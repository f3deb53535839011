# What stategraph is built on. Every missing piece stops with one sentence that names it and its Debian package.

if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW) # Boost's own package file; CMake's FindBoost is on its way out.
endif()

list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
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
  message(FATAL_ERROR
    "stategraph needs xxhash.h to build, and it was not found. On Debian: apt-get install libxxhash-dev. "
                      "Elsewhere: -DXXHASH_INCLUDE_DIR=<the folder of xxhash.h>.")
endif()
add_library(stategraph_xxhash INTERFACE)
target_include_directories(stategraph_xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")

# Packages that rooms need: a row each, at the end. They are looked for when a room that is to be built NEEDS them.
#
#   FIND        what find_package gets, in this build and in a program that uses an installed component; TARGET: the
#               target that it makes
#   CALLED      what messages call it; DEBIAN: its package there; ELSEWHERE: a sentence about one that is somewhere
#   else PKG_CONFIG  its names there; LIBS: what is linked where it has none
macro(stategraph_package name)
  cmake_parse_arguments(_package_${name} "" "TARGET;CALLED;DEBIAN;ELSEWHERE;LIBS" "FIND;PKG_CONFIG"
    ${ARGN})
  if(_package_${name}_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "cmake/Packages.cmake: the row of ${name} has ${_package_${name}_UNPARSED_ARGUMENTS}, which no column is called.")
  endif()
endmacro()

# Sets STATEGRAPH_NAME_FOUND.
macro(stategraph_find_package name)
  string(TOUPPER ${name} _PACKAGE)
  if(NOT DEFINED STATEGRAPH_${_PACKAGE}_FOUND)
    set(STATEGRAPH_${_PACKAGE}_FOUND OFF)
    find_package(${_package_${name}_FIND} QUIET)
    list(GET _package_${name}_FIND 0 _found)
    if(${_found}_FOUND AND TARGET ${_package_${name}_TARGET})
      set(STATEGRAPH_${_PACKAGE}_FOUND ON)
    endif()
  endif()
endmacro()

function(stategraph_require_package name product option)
  string(TOUPPER ${name} NAME)
  if(STATEGRAPH_${NAME}_FOUND)
    return()
  endif()
  set(missing "${_package_${name}_CALLED} was not found")
  if(NOT DEFINED ${option})
    message(STATUS
      "${missing}: stategraph::${product} is left out (Debian: apt-get install ${_package_${name}_DEBIAN})")
  elseif(${option})
    message(FATAL_ERROR "${option} is on, and ${missing}. On Debian: apt-get install ${_package_${name}_DEBIAN}. "
                        "Without it: -D${option}=OFF. ${_package_${name}_ELSEWHERE}")
  endif()
endfunction()

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
# 7.88 abandons a search for an address that hangs, and keeps the certificates that it has read.
stategraph_package(curl FIND CURL 7.88 TARGET CURL::libcurl CALLED "libcurl 7.88" DEBIAN libcurl4-openssl-dev
  PKG_CONFIG libcurl)
# The patterns of JSON Schemas. Debian's package has no file for CMake: cmake/Findre2.cmake finds either.
stategraph_package(re2 FIND re2 TARGET re2::re2 CALLED "RE2" DEBIAN libre2-dev PKG_CONFIG re2)
