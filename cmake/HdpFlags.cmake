# The compiler's instructions for hdp's own targets, and for no one else's.

set(HDP_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Wvla
    -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wswitch-enum)

if(HDP_FUZZ AND NOT HDP_SANITIZE)
    set(HDP_SANITIZE address,undefined)
endif()
if(HDP_SANITIZE)
    set(hdp_sanitize_flags -fsanitize=${HDP_SANITIZE}
        -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()
if(HDP_FUZZ)
    list(APPEND hdp_sanitize_flags -fsanitize=fuzzer-no-link)
endif()

# C11 without extensions, warnings, -ffp-contract=off (every compiler must
# compute the same plan bit for bit), debug symbols in every build type, and
# hardening where the optimiser makes it cheap.
function(hdp_flags target)
    set_target_properties(${target} PROPERTIES
        C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
        C_VISIBILITY_PRESET hidden)
    target_compile_options(${target} PRIVATE
        ${HDP_WARNINGS} -ffp-contract=off -g -fstack-protector-strong
        $<$<BOOL:${HDP_WERROR}>:-Werror> ${hdp_sanitize_flags})
    if(HDP_SANITIZE)
        target_link_options(${target} PRIVATE ${hdp_sanitize_flags})
    else()
        target_compile_options(${target} PRIVATE
            $<$<CONFIG:Release,RelWithDebInfo>:-U_FORTIFY_SOURCE>
            $<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
    endif()
endfunction()
