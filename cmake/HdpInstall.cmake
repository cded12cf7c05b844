# What a user of the library gets: headers, both libraries, the tool, a CMake
# package and a pkg-config file; all of it may be moved afterwards.
include(CMakePackageConfigHelpers)

set(hdp_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hdp)

install(TARGETS hdp hdp_static EXPORT hdpTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hdp
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The library has them inside; these are to be read, copied and changed.
install(FILES ${HDP_MACHINES}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/hdp/machines)
if(TARGET hdp_bench)
    file(RELATIVE_PATH hdp_bin_to_lib
        ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(hdp_bench PROPERTIES
        INSTALL_RPATH "$ORIGIN/${hdp_bin_to_lib}")
    install(TARGETS hdp_bench DESTINATION ${CMAKE_INSTALL_BINDIR})
    # A cross build cannot run the program that writes it.
    install(FILES ${PROJECT_BINARY_DIR}/bench/hdp_bench.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
endif()

install(EXPORT hdpTargets NAMESPACE hdp:: DESTINATION ${hdp_package_dir})
configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/hdpConfig.cmake.in
    ${PROJECT_BINARY_DIR}/generated/hdpConfig.cmake
    INSTALL_DESTINATION ${hdp_package_dir})
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/generated/hdpConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/generated/hdpConfig.cmake
    ${PROJECT_BINARY_DIR}/generated/hdpConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/FindJansson.cmake
    DESTINATION ${hdp_package_dir})

# pkg-config wants paths under ${prefix}; a packager may give absolute ones.
foreach(dir IN ITEMS INCLUDEDIR LIBDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
        set(hdp_pc_${dir} "${CMAKE_INSTALL_${dir}}")
    else()
        set(hdp_pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    endif()
endforeach()
set(hdp_pc_cuda "")
if(HDP_WITH_CUDA) # the archive asks for the runtime that hdp::hdp has inside
    set(hdp_pc_cuda "-L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt ")
endif()
file(RELATIVE_PATH hdp_pc_prefix
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" hdp_pc_prefix "${hdp_pc_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/hdp.pc.in
    ${PROJECT_BINARY_DIR}/generated/hdp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/hdp.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
