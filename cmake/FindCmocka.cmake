# Finds cmocka, the test harness: target Cmocka::cmocka.
find_path(CMOCKA_INCLUDE_DIR cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
mark_as_advanced(CMOCKA_INCLUDE_DIR CMOCKA_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cmocka
    REQUIRED_VARS CMOCKA_LIBRARY CMOCKA_INCLUDE_DIR
    REASON_FAILURE_MESSAGE "install libcmocka-dev (libcmocka-devel)")
if(Cmocka_FOUND AND NOT TARGET Cmocka::cmocka)
    add_library(Cmocka::cmocka UNKNOWN IMPORTED)
    set_target_properties(Cmocka::cmocka PROPERTIES
        IMPORTED_LOCATION ${CMOCKA_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${CMOCKA_INCLUDE_DIR})
endif()
