# Finds libcbor: imported target Cbor::cbor. Installed with stategraph as well, since a static stategraph links it.
# To point it somewhere: -DCMAKE_PREFIX_PATH=<prefix>, or -DCbor_INCLUDE_DIR=… -DCbor_LIBRARY=….

find_path(Cbor_INCLUDE_DIR cbor.h DOC "The folder of libcbor's cbor.h")
find_library(Cbor_LIBRARY cbor DOC "libcbor")
mark_as_advanced(Cbor_INCLUDE_DIR Cbor_LIBRARY)

if(Cbor_INCLUDE_DIR AND EXISTS "${Cbor_INCLUDE_DIR}/cbor/configuration.h")
  file(STRINGS "${Cbor_INCLUDE_DIR}/cbor/configuration.h" _cbor_lines
       REGEX "#define CBOR_(MAJOR|MINOR|PATCH)_VERSION +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" Cbor_VERSION "${_cbor_lines}")
  list(JOIN Cbor_VERSION "." Cbor_VERSION)
  unset(_cbor_lines)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Cbor
  REQUIRED_VARS Cbor_LIBRARY Cbor_INCLUDE_DIR
  VERSION_VAR Cbor_VERSION REASON_FAILURE_MESSAGE
  "stategraph needs libcbor. On Debian: apt-get install libcbor-dev. Elsewhere: -DCMAKE_PREFIX_PATH=<its prefix>.")

if(Cbor_FOUND AND NOT TARGET Cbor::cbor)
  add_library(Cbor::cbor UNKNOWN IMPORTED)
  set_target_properties(Cbor::cbor PROPERTIES IMPORTED_LOCATION "${Cbor_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                                  "${Cbor_INCLUDE_DIR}")
endif()
