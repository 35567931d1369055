# The e-graph engine for other projects:
#   cmake --install build/release --component egraph --prefix WHERE
#   find_package(egret REQUIRED) and egret::egraph
# Headers keep their names (#include "egraph/search/runner.h"). Needs base/ and egraph/ built, nothing else.
include(CMakePackageConfigHelpers)

set(package lib/cmake/egret)
foreach(folder base egraph)
  set_target_properties(egret_${folder} PROPERTIES EXPORT_NAME ${folder})
  install(TARGETS egret_${folder} EXPORT egret_egraph_targets
          ARCHIVE DESTINATION lib COMPONENT egraph)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION include/egret COMPONENT egraph
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(EXPORT egret_egraph_targets NAMESPACE egret:: FILE egret-egraph-targets.cmake
        DESTINATION ${package} COMPONENT egraph)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/egret-config.cmake.in
                              ${PROJECT_BINARY_DIR}/egret-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/egret-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/egret-config.cmake
              ${PROJECT_BINARY_DIR}/egret-config-version.cmake
        DESTINATION ${package} COMPONENT egraph)
