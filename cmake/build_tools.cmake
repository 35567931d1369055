# ccache where this machine has it; the build is the same without. Paths below the source folder are
# hashed relative to it, so that every clone on a machine uses what another one compiled. Given
# variables (-DCMAKE_CXX_COMPILER_LAUNCHER=..., -DEGRET_LINKER=lld) win.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(EGRET_CCACHE ccache DOC "Compiler cache")
  if(EGRET_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
        CCACHE_NOHASHDIR=1 ${EGRET_CCACHE})
  endif()
endif()

# Not mold, though it is faster: that of Debian 12 (1.10.1) may place a thread's variable so that the
# program does not start ("cannot apply additional memory protection after relocation").
set(EGRET_LINKER "auto" CACHE STRING "Linker for -fuse-ld: auto (the compiler's own), lld, gold, mold")
if(NOT EGRET_LINKER STREQUAL "auto" AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld")
  add_link_options(-fuse-ld=${EGRET_LINKER})
endif()
