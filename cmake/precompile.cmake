# Headers that most sources include, compiled once per target. Whole builds take less time (most of a
# compilation is headers), so the presets of sanitizers and coverage use it. Off elsewhere: a source
# that forgets an #include must fail.
option(EGRET_PRECOMPILE "Compile common headers once per target" OFF)

if(EGRET_PRECOMPILE)
  # What ccache needs to know sources that use them.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  list(TRANSFORM CMAKE_CXX_COMPILER_LAUNCHER
       REPLACE "^CCACHE_NOHASHDIR=1$" "CCACHE_NOHASHDIR=1;CCACHE_SLOPPINESS=pch_defines,time_macros")
endif()

# egret_precompile(TARGET DEPS ...): with the headers of graphs, if folders above base are among DEPS.
# EXTRA are further headers, as <gtest/gtest.h>.
function(egret_precompile target)
  cmake_parse_arguments(PRECOMPILE "" "" "DEPS;EXTRA" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(NOT EGRET_PRECOMPILE OR count LESS 4)
    return()
  endif()
  set(headers ${PROJECT_SOURCE_DIR}/cmake/precompiled.h ${PRECOMPILE_EXTRA})
  list(REMOVE_ITEM PRECOMPILE_DEPS base)
  if(PRECOMPILE_DEPS)
    list(APPEND headers ${PROJECT_SOURCE_DIR}/ir/graph/builder.h)
  endif()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()
