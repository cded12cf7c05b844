# Which commit a binary was built from. Asked at build time, not when CMake
# ran, because a measurement that names the wrong commit is worse than none.
# As a script (cmake -P) it writes OUT, and only when the answer changed.

if(CMAKE_SCRIPT_MODE_FILE)
    set(commit unknown)
    execute_process(COMMAND git rev-parse --show-toplevel
        WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE top ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    get_filename_component(source ${SOURCE} REALPATH)
    # A copy of the sources inside somebody else's repository has no commit.
    if(NOT failed AND top STREQUAL source)
        execute_process(COMMAND git rev-parse --short=12 HEAD
            WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE head ERROR_QUIET
            OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
        execute_process(
            COMMAND git --no-optional-locks diff --quiet HEAD --
            WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE changed ERROR_QUIET)
        if(NOT failed)
            set(commit ${head})
        endif()
        if(NOT failed AND changed)
            string(APPEND commit "-modified")
        endif()
    endif()
    set(text "#define HDP_VERSION \"${VERSION}\"\n")
    string(APPEND text "#define HDP_COMMIT \"${commit}\"\n")
    set(old "")
    if(EXISTS ${OUT})
        file(READ ${OUT} old)
    endif()
    if(NOT text STREQUAL old)
        file(WRITE ${OUT} ${text})
    endif()
    return()
endif()

set(HDP_COMMIT_HEADER ${PROJECT_BINARY_DIR}/generated/hdp_commit.h)
add_custom_target(hdp_commit
    BYPRODUCTS ${HDP_COMMIT_HEADER}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
        -DOUT=${HDP_COMMIT_HEADER} -DVERSION=${PROJECT_VERSION}
        -P ${CMAKE_CURRENT_LIST_FILE}
    COMMENT "" VERBATIM)

# Gives each source that names HDP_VERSION or HDP_COMMIT the two definitions;
# the others must not be compiled again with every commit.
function(hdp_commit_for target)
    add_dependencies(${target} hdp_commit)
    foreach(source IN LISTS ARGN)
        file(STRINGS ${source} named REGEX "HDP_(VERSION|COMMIT)[^_A-Z]")
        if(named)
            set_property(SOURCE ${source} APPEND PROPERTY
                COMPILE_OPTIONS -include ${HDP_COMMIT_HEADER})
        endif()
    endforeach()
endfunction()
