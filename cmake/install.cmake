# What `cmake --install build/release --prefix WHERE` installs, by component:
#   egraph       the e-graph engine alone: egret::egraph (docs/egraph.md)
#   development  all libraries and headers: egret::egret
#   program      egret with its manual pages and completions
# and `cpack --config build/release/CPackConfig.cmake -B build/package`, which makes a Debian package
# of all three. Headers keep their names (#include "driver/optimize.h").
include(CMakePackageConfigHelpers)

set(package lib/cmake/egret)
get_property(libraries GLOBAL PROPERTY EGRET_LIBRARIES)
list(REMOVE_ITEM libraries egret_tools mimalloc)  # the program's own

# Headers of `folder`, as includes name them.
function(egret_install_headers folder component)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION include/egret COMPONENT ${component}
          FILES_MATCHING PATTERN "*.h")
endfunction()

foreach(library ${libraries})
  string(REPLACE egret_ "" folder ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${folder})
  if(folder MATCHES "^(base|egraph)$")
    install(TARGETS ${library} EXPORT egret_egraph_targets ARCHIVE DESTINATION lib COMPONENT egraph)
    egret_install_headers(${folder} egraph)
  else()
    install(TARGETS ${library} EXPORT egret_targets ARCHIVE DESTINATION lib COMPONENT development)
    egret_install_headers(${folder} development)
  endif()
endforeach()
install(EXPORT egret_egraph_targets NAMESPACE egret:: FILE egret-egraph-targets.cmake
        DESTINATION ${package} COMPONENT egraph)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/egret-config.cmake.in
                              ${PROJECT_BINARY_DIR}/egret-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/egret-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
foreach(component egraph development)
  install(FILES ${PROJECT_BINARY_DIR}/egret-config.cmake
                ${PROJECT_BINARY_DIR}/egret-config-version.cmake
          DESTINATION ${package} COMPONENT ${component})
endforeach()

if(NOT TARGET egret_driver)  # recipes build a part of the folders
  return()
endif()

# egret::egret: what a program needs that optimizes models and runs plans.
add_library(egret_all INTERFACE)
add_library(egret::egret ALIAS egret_all)
set_target_properties(egret_all PROPERTIES EXPORT_NAME egret)
target_link_libraries(egret_all INTERFACE egret::driver egret::runtime)
install(TARGETS egret_all egret_z3 egret_dnnl egret_libzip egret_onnx_schema EXPORT egret_targets
        ARCHIVE DESTINATION lib COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/generated/frontends/onnx.pb.h
        DESTINATION include/egret/frontends COMPONENT development)
install(EXPORT egret_targets NAMESPACE egret:: FILE egret-targets.cmake DESTINATION ${package}
        COMPONENT development)

# HiGHS of the Python registry is not where a linker looks: it is installed too.
set(private_libraries)
if(HIGHS_LIBRARY)
  install(FILES ${HIGHS_LIBRARY} DESTINATION lib/egret COMPONENT program)
  install(FILES ${HIGHS_LIBRARY} DESTINATION lib/egret COMPONENT development)
  get_filename_component(private_libraries ${HIGHS_LIBRARY} DIRECTORY)
endif()

if(NOT SKBUILD)  # the wheel has the program at a place of its own
  set_target_properties(egret PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/egret")
endif()
install(TARGETS egret egret_check egret_check_plan egret_check_rule RUNTIME DESTINATION bin COMPONENT program)
# Pages and completions come from the program that was built.
set(pages ${PROJECT_BINARY_DIR}/pages)
install(CODE "execute_process(COMMAND ${CMAKE_COMMAND} -DEGRET=$<TARGET_FILE:egret>
                -DVERBS=${PROJECT_SOURCE_DIR}/tools/frame/verbs.def -DOUTPUT=${pages}
                -P ${CMAKE_CURRENT_LIST_DIR}/write_pages.cmake COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT program)
install(DIRECTORY ${pages}/ DESTINATION share COMPONENT program)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME egret)
set(CPACK_PACKAGE_VENDOR "The Egret contributors")
set(CPACK_PACKAGE_CONTACT "The Egret contributors <egret@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "optimizes tensor programs by equality saturation")
set(CPACK_PACKAGE_DESCRIPTION "Egret keeps all graphs that proven rules make equal in one e-graph \
and extracts the cheapest one under measured costs. The package has the program egret, its manual \
pages and completions, and the C++ libraries.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # dependencies on libraries, by what the program links
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${private_libraries})
if(CBC_LIBRARY AND HIGHS_LIBRARY)  # opened at run time, where it is asked for
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "coinor-libcbc3")
elseif(CBC_LIBRARY)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "coinor-libcbc3")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_COMPONENTS_ALL egraph development program)
set(CPACK_DEB_COMPONENT_INSTALL OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
