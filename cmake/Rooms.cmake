# A room is a folder whose CMakeLists.txt calls stategraph_room(): a product, or a floor of the core. This file finds
# the rooms, puts each after those that it uses, and makes of each call a target, an option, a component of the
# package and a program of tests. Nothing else lists rooms: installation, packages and scripts read the same calls.
#
#   stategraph_room(NAME …)  the target stategraph_NAME (for users stategraph::NAME) of all sources below the folder
#                            that are in no other room, and of tests/FOLDER (without src/) the program tests-NAME
#   PART_OF core             a floor: its objects are a part of stategraph::core
#   BUNDLED                  a part of stategraph::stategraph; other products are components, with an option
#                            STATEGRAPH_WITH_NAME
#   USES ROOM…               the rooms whose files it includes, and what its users link too. Every product may use the
#                            core's public headers without a word. Rooms that use each other are an error
#   USES_IF_BUILT ROOM…      the same, without which it is built too; its sources ask STATEGRAPH_HAS_ROOM
#   HEADERS NAME…            its public headers below include/stategraph/, without .hpp; without HEADERS all of
#                            include/stategraph/FOLDER/ that no other room names. What nobody names is the core's
#   NEEDS PACKAGE            of cmake/Packages.cmake: it is built where the package is found;
#                            -DSTATEGRAPH_WITH_NAME=ON requires it
#   LINKS TARGET…            what its own sources use besides
#   ASIO                     its sources include Boost.Asio
#   TESTS FOLDER…            its tests, if they are not in tests/FOLDER alone; TESTED_BY ROOM: it has none of its own
#   TESTS_USE ROOM…          what its tests use besides, where it is built. A test that includes a header of a room
#                            that is not built is left out
#   TESTS_LINK TARGET…       targets of tests/support that its tests need
#   ON_EVERY_KIND            its tests run on every kind of saver, store and cache that is built
#   STARTS_THREADS           ThreadSanitizer runs its tests after each commit, and not only after some

# The calls are read twice. Now each is only written down, as STATEGRAPH_ROOM_NAME_WORD, and the rest of its file is
# left out; when all rooms are known, each folder is added, in the order that they need, with the function below.
set(STATEGRAPH_FOLDERS "") # each folder with a CMakeLists.txt, whose files are nobody else's
set(STATEGRAPH_TEST_FOLDERS "") # those of tests that are no room's
set(STATEGRAPH_TESTED_FOLDERS "") # each folder of tests that is named, or a room's
set(STATEGRAPH_ALL_ROOMS "")
set(_claimed "") # headers
set(_core_parts "")
set(_rows "")
macro(stategraph_room name)
  if("${name}" IN_LIST STATEGRAPH_ALL_ROOMS)
    message(FATAL_ERROR "Two rooms are called ${name}: ${_folder} and ${STATEGRAPH_ROOM_${name}_FOLDER}.")
  endif()
  set(_room STATEGRAPH_ROOM_${name})
  cmake_parse_arguments(${_room} "BUNDLED;ASIO;ON_EVERY_KIND;STARTS_THREADS" "PART_OF;NEEDS;TESTED_BY"
    "USES;USES_IF_BUILT;HEADERS;LINKS;TESTS;TESTS_USE;TESTS_LINK" ${ARGN})
  set(${_room}_FOLDER ${_folder})
  list(APPEND STATEGRAPH_ALL_ROOMS ${name})
  if(NOT ${_room}_TESTS AND NOT ${_room}_TESTED_BY AND NOT "${name}" STREQUAL "core")
    string(REGEX REPLACE "^src/" "" ${_room}_TESTS ${_folder})
  endif()
  foreach(_tests IN LISTS ${_room}_TESTS)
    list(APPEND STATEGRAPH_TESTED_FOLDERS tests/${_tests})
  endforeach()
  list(APPEND _claimed ${${_room}_HEADERS})
  if("${${_room}_PART_OF}" STREQUAL "core")
    list(APPEND _core_parts ${name})
  endif()
  return() # from the file
endmacro()
macro(stategraph_tests name)
  list(APPEND STATEGRAPH_TESTED_FOLDERS ${_folder})
  list(APPEND STATEGRAPH_TEST_FOLDERS ${_folder})
  set(_arguments ${ARGN})
  set(_words built)
  if("STARTS_THREADS" IN_LIST _arguments)
    set(_words "built starts_threads")
  endif()
  string(APPEND _rows "${name}|${_words}||${_folder}\n")
  return() # from the file
endmacro()
file(GLOB _files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/*/CMakeLists.txt"
  "${PROJECT_SOURCE_DIR}/*/*/CMakeLists.txt" "${PROJECT_SOURCE_DIR}/*/*/*/CMakeLists.txt")
list(FILTER _files EXCLUDE REGEX "^(build|examples|benchmarks)/")
foreach(_file IN LISTS _files)
  cmake_path(GET _file PARENT_PATH _folder)
  list(APPEND STATEGRAPH_FOLDERS ${_folder})
  file(STRINGS "${PROJECT_SOURCE_DIR}/${_file}" _calls REGEX "^stategraph_(room|tests)\\(")
  if(_calls)
    include("${PROJECT_SOURCE_DIR}/${_file}")
  endif()
endforeach()

# The savers' test kit needs doctest, which a build without tests does without; the tests include each of its headers.
set(_kit "${PROJECT_SOURCE_DIR}/include/stategraph/testing/saver_contract")
file(GLOB STATEGRAPH_KIT_HEADERS CONFIGURE_DEPENDS "${_kit}/*.hpp")
list(APPEND STATEGRAPH_KIT_HEADERS "${_kit}.hpp")

# ------------------------------------------------------------------------------------- each after those that it uses
set(STATEGRAPH_ROOMS "") # those that are built, in their order
set(STATEGRAPH_COMPONENTS "") # of the package: the rooms that are neither parts nor bundled, built or not
set(_placed "")
set(_left ${STATEGRAPH_ALL_ROOMS})
while(_left)
  set(_still "")
  foreach(_room IN LISTS _left)
    set(_first ${STATEGRAPH_ROOM_${_room}_USES} ${STATEGRAPH_ROOM_${_room}_USES_IF_BUILT})
    if(_room STREQUAL "core")
      list(APPEND _first ${_core_parts})
    elseif(NOT _room IN_LIST _core_parts)
      list(APPEND _first core)
    endif()
    set(_unknown ${STATEGRAPH_ROOM_${_room}_UNPARSED_ARGUMENTS} ${STATEGRAPH_ROOM_${_room}_KEYWORDS_MISSING_VALUES}
        ${_first} ${STATEGRAPH_ROOM_${_room}_TESTS_USE})
    list(REMOVE_ITEM _unknown ${STATEGRAPH_ALL_ROOMS})
    if(_unknown)
      message(FATAL_ERROR "${STATEGRAPH_ROOM_${_room}_FOLDER}/CMakeLists.txt: ${_unknown} is neither a room nor one of "
        "the words of cmake/Rooms.cmake, or a word without what it needs.")
    endif()
    list(REMOVE_ITEM _first ${_placed})
    if(_first)
      list(APPEND _still ${_room})
    else()
      list(APPEND _placed ${_room})
    endif()
  endforeach()
  if(_still STREQUAL "${_left}")
    message(FATAL_ERROR "These rooms use each other, so that none can be the first: ${_left}.")
  endif()
  set(_left ${_still})
endwhile()

foreach(_room IN LISTS _placed)
  string(TOUPPER ${_room} _NAME)
  set(_option STATEGRAPH_WITH_${_NAME})
  if(_room IN_LIST _core_parts OR _room STREQUAL "core" OR STATEGRAPH_ROOM_${_room}_BUNDLED)
    set(${_option} ON)
  else()
    list(APPEND STATEGRAPH_COMPONENTS ${_room})
    set(_default ON)
    if(STATEGRAPH_ROOM_${_room}_NEEDS)
      if(NOT DEFINED ${_option} OR ${_option})
        stategraph_find_package(${STATEGRAPH_ROOM_${_room}_NEEDS})
      endif()
      stategraph_require_package(${STATEGRAPH_ROOM_${_room}_NEEDS} ${_room} ${_option})
      string(TOUPPER ${STATEGRAPH_ROOM_${_room}_NEEDS} _NEEDS)
      set(_default ${STATEGRAPH_${_NEEDS}_FOUND})
    endif()
    foreach(_used IN LISTS STATEGRAPH_ROOM_${_room}_USES)
      string(TOUPPER ${_used} _USED)
      if(NOT STATEGRAPH_WITH_${_USED})
        set(_default OFF)
        if(DEFINED ${_option} AND ${_option})
          message(FATAL_ERROR "${_option} needs STATEGRAPH_WITH_${_USED}, which is off; set both or none.")
        endif()
      endif()
    endforeach()
    option(${_option} "Build stategraph::${_room} (${STATEGRAPH_ROOM_${_room}_FOLDER}/)" ${_default})
    foreach(_used IN LISTS STATEGRAPH_ROOM_${_room}_USES_IF_BUILT)
      if(_used IN_LIST STATEGRAPH_ROOMS)
        list(APPEND STATEGRAPH_ROOM_${_room}_USES ${_used})
      endif()
    endforeach()
  endif()
  if(${_option})
    list(APPEND STATEGRAPH_ROOMS ${_room})
  endif()

  # Its public headers.
  set(_include "${PROJECT_SOURCE_DIR}/include/stategraph")
  set(_headers "")
  if(STATEGRAPH_ROOM_${_room}_HEADERS)
    foreach(_header IN LISTS STATEGRAPH_ROOM_${_room}_HEADERS)
      list(APPEND _headers "${_include}/${_header}.hpp")
    endforeach()
  elseif(NOT _room IN_LIST _core_parts)
    if(_room STREQUAL "core")
      file(GLOB _headers CONFIGURE_DEPENDS "${_include}/*.hpp" "${_include}/detail/*.hpp" "${_include}/testing/*.hpp")
    else()
      file(GLOB _headers CONFIGURE_DEPENDS "${_include}/${STATEGRAPH_ROOM_${_room}_FOLDER}/*.hpp")
    endif()
    foreach(_header IN LISTS _claimed)
      list(REMOVE_ITEM _headers "${_include}/${_header}.hpp")
    endforeach()
    list(REMOVE_ITEM _headers ${STATEGRAPH_KIT_HEADERS})
    if(NOT _headers)
      message(FATAL_ERROR "${STATEGRAPH_ROOM_${_room}_FOLDER}/CMakeLists.txt: ${_room} has no public header. They are "
        "in include/stategraph/${STATEGRAPH_ROOM_${_room}_FOLDER}/, or HEADERS names them.")
    endif()
  endif()
  set(STATEGRAPH_ROOM_${_room}_HEADERS ${_headers})
endforeach()
foreach(_room IN LISTS _placed)
  set(_words "")
  if(_room IN_LIST STATEGRAPH_ROOMS)
    list(APPEND _words built)
  endif()
  if(STATEGRAPH_ROOM_${_room}_STARTS_THREADS)
    list(APPEND _words starts_threads)
  endif()
  set(_paths ${STATEGRAPH_ROOM_${_room}_FOLDER} ${STATEGRAPH_ROOM_${_room}_HEADERS})
  foreach(_tests IN LISTS STATEGRAPH_ROOM_${_room}_TESTS)
    list(APPEND _paths tests/${_tests})
  endforeach()
  list(TRANSFORM _paths REPLACE "^${PROJECT_SOURCE_DIR}/" "")
  list(APPEND _words ${STATEGRAPH_ROOM_${_room}_PART_OF} ${STATEGRAPH_ROOM_${_room}_TESTED_BY})
  set(_row "${_room}|${_words}|${STATEGRAPH_ROOM_${_room}_USES}|${_paths}")
  string(REPLACE ";" " " _row "${_row}")
  string(APPEND _rows "${_row}\n")
endforeach()
# For scripts/lib/rooms.sh: NAME|words|what it uses|its paths.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/rooms.txt" CONTENT "${_rows}" @ONLY)

# ------------------------------------------------------------------------------------------------------ what is made
# The files below FOLDER whose names end with SUFFIX, without those that are in another of the folders OTHERS,
# and without those of a folder program/, which has the main() of a program.
function(stategraph_files_below out folder suffix)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*${suffix}")
  list(FILTER files EXCLUDE REGEX "/(node_modules|program)/")
  foreach(other IN LISTS ARGN)
    if(other MATCHES "^${folder}/")
      list(FILTER files EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${other}/")
    endif()
  endforeach()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# Who compiles stategraph's own files: C++20 without extensions, the warnings, the private headers. Never exported.
function(stategraph_own target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:stategraph_warnings>)
endfunction()

# Several files at a time, in builds with the least work.
function(stategraph_together target)
  if(STATEGRAPH_TOGETHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${STATEGRAPH_TOGETHER})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (STATEGRAPH_TOGETHER OR CMAKE_UNITY_BUILD))
    # g++ takes what is in an included .cpp for a header's
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# So that Boost.Asio can be in builds with ThreadSanitizer: its files are compiled alike everywhere, because one
# program must see one Asio. What is included ahead of them hides precompiled headers.
function(stategraph_uses_asio target)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    target_compile_definitions(${target} PRIVATE BOOST_ASIO_DISABLE_FENCED_BLOCK)
    target_compile_options(${target} PRIVATE "SHELL:-include ${PROJECT_SOURCE_DIR}/tests/support/asio_for_tsan.hpp")
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# Reuses the library's precompiled header, with HOW=products that of the rooms with STATEGRAPH_PRODUCT_OPTIONS.
function(stategraph_precompiled target how)
  if(NOT STATEGRAPH_PRECOMPILED)
    return()
  endif()
  if(NOT TARGET stategraph_precompiled_${how})
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/empty.cpp" CONTENT "")
    add_library(stategraph_precompiled_${how} OBJECT "${PROJECT_BINARY_DIR}/empty.cpp")
    stategraph_own(stategraph_precompiled_${how})
    set_target_properties(stategraph_precompiled_${how} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(stategraph_precompiled_${how} PRIVATE ${STATEGRAPH_OWN_CALLS})
    if(how STREQUAL "products")
      target_compile_options(stategraph_precompiled_${how} PRIVATE ${STATEGRAPH_PRODUCT_OPTIONS})
    endif()
    target_link_libraries(stategraph_precompiled_${how} PRIVATE Boost::headers Threads::Threads)
    target_include_directories(stategraph_precompiled_${how} PRIVATE "${PROJECT_SOURCE_DIR}/include")
    target_precompile_headers(stategraph_precompiled_${how} PRIVATE "${PROJECT_SOURCE_DIR}/src/precompiled.hpp")
  endif()
  target_precompile_headers(${target} REUSE_FROM stategraph_precompiled_${how})
endfunction()

# Code that may end up in a shared library calls its own functions as directly as other code does.
set(STATEGRAPH_OWN_CALLS "")
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT APPLE)
  set(STATEGRAPH_OWN_CALLS -fno-semantic-interposition)
endif()

function(stategraph_room name)
  set(room STATEGRAPH_ROOM_${name})
  set(folder ${${room}_FOLDER})
  set(target stategraph_${name})
  stategraph_files_below(sources ${folder} .cpp ${STATEGRAPH_FOLDERS})
  if(NOT sources AND NOT name STREQUAL "core")
    message(FATAL_ERROR "${folder}/CMakeLists.txt: there is no source below ${folder}/.")
  endif()
  set_property(GLOBAL APPEND PROPERTY STATEGRAPH_SOURCES_IN_ROOMS ${sources})
  if(${room}_PART_OF)
    add_library(${target} OBJECT ${sources})
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/include")
    target_link_libraries(${target} PUBLIC Boost::headers Threads::Threads PRIVATE stategraph_xxhash)
  else()
    if(name STREQUAL "core")
      foreach(part IN LISTS STATEGRAPH_ROOMS)
        if(STATEGRAPH_ROOM_${part}_PART_OF STREQUAL name)
          list(APPEND sources $<TARGET_OBJECTS:stategraph_${part}>)
        endif()
      endforeach()
    endif()
    add_library(${target} ${sources})
    add_library(stategraph::${name} ALIAS ${target})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES
      ${${room}_HEADERS})
    set_target_properties(
      ${target}
      PROPERTIES EXPORT_NAME ${name}
                 VERSION ${PROJECT_VERSION}
                 SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                 ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
                 LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
                 # `cmake --build … --target all_verify_interface_header_sets` compiles every header on its own.
                 VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
    if(name STREQUAL "core")
      target_link_libraries(${target} PUBLIC Boost::headers Threads::Threads)
    else()
      target_link_libraries(${target} PUBLIC stategraph_core)
    endif()
  endif()
  stategraph_own(${target})
  # Users link the static library into shared ones, such as modules of other languages, too.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${STATEGRAPH_OWN_CALLS})
  stategraph_together(${target})
  foreach(used IN LISTS ${room}_USES)
    string(TOUPPER ${used} USED)
    if(NOT STATEGRAPH_ROOM_${used}_PART_OF)
      target_link_libraries(${target} PUBLIC stategraph_${used})
      if(used IN_LIST ${room}_USES_IF_BUILT)
        target_compile_definitions(${target} PRIVATE STATEGRAPH_HAS_${USED}=1)
      endif()
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE ${${room}_LINKS})
  # Other products than savers are slow to compile and run little.
  set(how own)
  if(STATEGRAPH_PRODUCT_OPTIONS AND name IN_LIST STATEGRAPH_COMPONENTS AND NOT folder MATCHES "^storage/")
    set(how products)
    target_compile_options(${target} PRIVATE ${STATEGRAPH_PRODUCT_OPTIONS})
  endif()
  if(NOT name STREQUAL "core")
    stategraph_precompiled(${target} ${how})
  endif()
  if(${room}_ASIO)
    stategraph_uses_asio(${target})
  endif()
endfunction()

# Functions that each superstep calls begin at a cache line. Otherwise their time depends, by up to 10 %, on where the
# linker happens to put them. A source with an option of its own can be compiled neither together with others nor with
# their precompiled header.
function(stategraph_align)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang"
     AND NOT STATEGRAPH_TOGETHER
     AND NOT CMAKE_UNITY_BUILD
     AND NOT STATEGRAPH_PRECOMPILED)
    list(TRANSFORM ARGN REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1.cpp" OUTPUT_VARIABLE files)
    set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-falign-functions=64>")
  endif()
endfunction()

# A source or a header that is in no room would be compiled, installed or tested by nobody.
function(stategraph_check_rooms)
  get_property(in_rooms GLOBAL PROPERTY STATEGRAPH_SOURCES_IN_ROOMS)
  foreach(folder IN LISTS STATEGRAPH_FOLDERS)
    string(REGEX REPLACE "/.*" "" top ${folder})
    list(APPEND tops ${top})
  endforeach()
  list(REMOVE_DUPLICATES tops)
  list(REMOVE_ITEM tops tests)
  foreach(room IN LISTS STATEGRAPH_COMPONENTS)
    if(NOT room IN_LIST STATEGRAPH_ROOMS) # one that is not built has its sources all the same
      stategraph_files_below(sources ${STATEGRAPH_ROOM_${room}_FOLDER} .cpp ${STATEGRAPH_FOLDERS})
      list(APPEND in_rooms ${sources})
    endif()
    list(APPEND headers ${STATEGRAPH_ROOM_${room}_HEADERS})
  endforeach()
  foreach(top IN LISTS tops)
    stategraph_files_below(sources ${top} .cpp)
    list(REMOVE_ITEM sources ${in_rooms})
    if(sources)
      message(FATAL_ERROR "These sources are in no room: ${sources}. A folder becomes one by a CMakeLists.txt that "
        "calls stategraph_room().")
    endif()
  endforeach()
  file(GLOB_RECURSE all CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.hpp")
  foreach(room IN LISTS STATEGRAPH_ROOMS)
    list(APPEND headers ${STATEGRAPH_ROOM_${room}_HEADERS})
  endforeach()
  list(REMOVE_ITEM all ${headers} ${STATEGRAPH_KIT_HEADERS})
  if(all)
    message(FATAL_ERROR "These public headers are in no room: ${all}.")
  endif()
endfunction()

# The products whose public headers a file includes, and whether all of them are built.
function(stategraph_products_of out are_built file)
  file(STRINGS "${file}" lines REGEX "^ *#include <stategraph/")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  set(found "")
  set(built ON)
  foreach(room IN LISTS STATEGRAPH_COMPONENTS)
    foreach(header IN LISTS STATEGRAPH_ROOM_${room}_HEADERS)
      cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/include")
      if("#include <${header}>" IN_LIST lines)
        list(APPEND found ${room})
        if(NOT room IN_LIST STATEGRAPH_ROOMS)
          set(built OFF)
        endif()
        break()
      endif()
    endforeach()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
  set(${are_built} ${built} PARENT_SCOPE)
endfunction()

# Whether a file includes one of the headers, a regular expression.
function(stategraph_includes out file headers)
  file(STRINGS "${file}" lines REGEX "^ *#include [<\"](${headers})" LIMIT_COUNT 1)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  if(lines)
    set(${out} ON PARENT_SCOPE)
  else()
    set(${out} OFF PARENT_SCOPE)
  endif()
endfunction()
