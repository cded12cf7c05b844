# The machines that come with the library stand inside it, so that they are
# found uninstalled and wherever the library is moved to. As a script (cmake -P)
# it turns the files of MACHINES into the C arrays of OUT.

if(CMAKE_SCRIPT_MODE_FILE)
    set(arrays "")
    set(rows "")
    foreach(file IN LISTS MACHINES)
        get_filename_component(name ${file} NAME_WE)
        file(READ ${file} bytes HEX)
        string(LENGTH "${bytes}" digits)
        math(EXPR count "${digits} / 2")
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
        string(APPEND arrays
            "static const unsigned char ${name}[] = { ${bytes} };\n")
        string(APPEND rows "    { \"${name}\", ${name}, ${count} },\n")
    endforeach()
    file(WRITE ${OUT} "#include \"internal.h\"\n\n${arrays}
const struct hdpi_shipped hdpi_shipped_machines[] = {
${rows}    { NULL, NULL, 0 }
};
")
    return()
endif()

# In the order in which they are listed to people.
set(HDP_MACHINES desk turing twin laptop lab)
list(TRANSFORM HDP_MACHINES PREPEND ${PROJECT_SOURCE_DIR}/examples/machines/)
list(TRANSFORM HDP_MACHINES APPEND .json)
set(HDP_MACHINES_SOURCE ${PROJECT_BINARY_DIR}/generated/machines.c)
add_custom_command(OUTPUT ${HDP_MACHINES_SOURCE}
    COMMAND ${CMAKE_COMMAND} "-DMACHINES=${HDP_MACHINES}"
        -DOUT=${HDP_MACHINES_SOURCE} -P ${CMAKE_CURRENT_LIST_FILE}
    DEPENDS ${HDP_MACHINES} ${CMAKE_CURRENT_LIST_FILE}
    COMMENT "Embedding the shipped machines" VERBATIM)
set_property(SOURCE ${HDP_MACHINES_SOURCE}
    APPEND PROPERTY COMPILE_DEFINITIONS _GNU_SOURCE)
