# One static library per folder. DEPS are the folders it may include; scripts/check_layers.py reads
# the same lines and fails when an #include says otherwise.
#
#   egret_library(ir DEPS base [EXTERNAL Boost::headers ...] [PRIVATE_EXTERNAL ZLIB::ZLIB ...]
#                 [ROOMS core ops ...] [EXCLUDE main.cc])
#
# EXTERNAL are packages whose headers our headers show, PRIVATE_EXTERNAL those that stay inside .cc
# files; prefer the latter. ROOMS are the subfolders whose sources are compiled beside the folder's own
# (docs/architecture.md says what each may include); EXCLUDE leaves out files of programs that live in
# the same folder.
function(egret_library folder)
  cmake_parse_arguments(LIB "" "" "DEPS;EXTERNAL;PRIVATE_EXTERNAL;ROOMS;EXCLUDE" ${ARGN})
  set(sources)
  foreach(sub . ${LIB_ROOMS})
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${sub}/*.cc)
    list(APPEND sources ${found})
  endforeach()
  foreach(file ${LIB_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX "/${file}$")
  endforeach()
  add_library(egret_${folder} STATIC ${sources})
  add_library(egret::${folder} ALIAS egret_${folder})
  target_include_directories(egret_${folder} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:include/egret>)
  target_compile_features(egret_${folder} PUBLIC cxx_std_20)
  target_link_libraries(egret_${folder} PRIVATE $<BUILD_INTERFACE:egret_warnings>)
  foreach(dep ${LIB_DEPS})
    target_link_libraries(egret_${folder} PUBLIC egret::${dep})
  endforeach()
  target_link_libraries(egret_${folder} PUBLIC ${LIB_EXTERNAL} PRIVATE ${LIB_PRIVATE_EXTERNAL})
  egret_precompile(egret_${folder} DEPS ${LIB_DEPS})
  set_property(GLOBAL APPEND PROPERTY EGRET_LIBRARIES egret_${folder})
endfunction()

# A program in build/<preset>/bin. PRECOMPILED: headers of packages that most of its sources include.
function(egret_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;DEPS;EXTERNAL;PRECOMPILED" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_link_libraries(${name} PRIVATE egret_warnings)
  foreach(dep ${PROGRAM_DEPS})
    target_link_libraries(${name} PRIVATE egret::${dep})
  endforeach()
  target_link_libraries(${name} PRIVATE ${PROGRAM_EXTERNAL})
  egret_precompile(${name} DEPS ${PROGRAM_DEPS} EXTRA ${PROGRAM_PRECOMPILED})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# egret_opened_library(LIBRARY name): a library that the program opens at run time and does not link. LIBRARY is the
# variable with its file; `name` becomes the name by which the loader finds it (SONAME).
function(egret_opened_library library out)
  set_property(GLOBAL APPEND PROPERTY EGRET_OPENED_LIBRARIES "${${library}}")
  execute_process(COMMAND ${CMAKE_READELF} -d ${${library}} OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(NOT dynamic MATCHES "\\(SONAME\\)[^[]*\\[([^]]+)\\]")
    message(FATAL_ERROR "${${library}} has no SONAME")
  endif()
  set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()
