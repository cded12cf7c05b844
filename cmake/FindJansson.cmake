# Finds jansson, the JSON library, and offers two targets:
#   Jansson::shared   the shared library
#   Jansson::hidden   the archive where one exists and fits into a shared
#                     library (position independent), else the shared library
# HDP_JANSSON_INSIDE says which of the two the second is.

find_path(JANSSON_INCLUDE_DIR jansson.h)
find_library(JANSSON_LIBRARY jansson)
find_library(JANSSON_ARCHIVE libjansson.a)
mark_as_advanced(JANSSON_INCLUDE_DIR JANSSON_LIBRARY JANSSON_ARCHIVE)
if(NOT JANSSON_LIBRARY AND JANSSON_ARCHIVE)
    set(JANSSON_LIBRARY ${JANSSON_ARCHIVE})
endif()
if(JANSSON_INCLUDE_DIR AND EXISTS ${JANSSON_INCLUDE_DIR}/jansson.h)
    file(STRINGS ${JANSSON_INCLUDE_DIR}/jansson.h Jansson_VERSION
        REGEX "^#define JANSSON_VERSION +\"")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" Jansson_VERSION
        "${Jansson_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Jansson
    REQUIRED_VARS JANSSON_LIBRARY JANSSON_INCLUDE_DIR
    VERSION_VAR Jansson_VERSION
    REASON_FAILURE_MESSAGE "install libjansson-dev (jansson-devel)")

# A distribution's archive is often built for programs, not for libraries. Once
# its symbols are hidden it mostly fits all the same; only the linker knows.
function(hdp_jansson_fits_shared out)
    set(dir ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/jansson)
    file(WRITE ${dir}/CMakeLists.txt "cmake_minimum_required(VERSION 3.22)
project(fits C)
add_library(fits SHARED fits.c)
target_include_directories(fits PRIVATE \"${JANSSON_INCLUDE_DIR}\")
target_link_libraries(fits PRIVATE \"${JANSSON_ARCHIVE}\")
target_link_options(fits PRIVATE LINKER:--exclude-libs,ALL LINKER:-z,text)
")
    file(WRITE ${dir}/fits.c "#include <jansson.h>
char *fits(const char *text);
char *fits(const char *text) {
    return json_dumps(json_loads(text, 0, 0), JSON_COMPACT);
}
")
    try_compile(${out} ${dir}/build ${dir} fits)
    set(${out} ${${out}} PARENT_SCOPE)
endfunction()

if(Jansson_FOUND AND NOT TARGET Jansson::shared)
    if(JANSSON_ARCHIVE AND NOT DEFINED HDP_JANSSON_INSIDE)
        hdp_jansson_fits_shared(hdp_fits)
        set(HDP_JANSSON_INSIDE ${hdp_fits} CACHE INTERNAL
            "jansson's archive can live inside a shared library")
    endif()
    add_library(Jansson::shared UNKNOWN IMPORTED)
    set_target_properties(Jansson::shared PROPERTIES
        IMPORTED_LOCATION ${JANSSON_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${JANSSON_INCLUDE_DIR})
    add_library(Jansson::hidden UNKNOWN IMPORTED)
    set(hdp_jansson ${JANSSON_LIBRARY})
    if(HDP_JANSSON_INSIDE)
        set(hdp_jansson ${JANSSON_ARCHIVE})
    endif()
    set_target_properties(Jansson::hidden PROPERTIES
        IMPORTED_LOCATION ${hdp_jansson}
        INTERFACE_INCLUDE_DIRECTORIES ${JANSSON_INCLUDE_DIR})
endif()
