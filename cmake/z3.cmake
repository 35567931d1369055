# The target egret::z3, for the folders that may include it (scripts/check_layers.py).
include_guard(GLOBAL)
find_path(Z3_INCLUDE_DIR z3++.h REQUIRED)
find_library(Z3_LIBRARY z3 REQUIRED)
add_library(egret_z3 INTERFACE)
add_library(egret::z3 ALIAS egret_z3)
set_target_properties(egret_z3 PROPERTIES EXPORT_NAME z3)
target_include_directories(egret_z3 SYSTEM INTERFACE ${Z3_INCLUDE_DIR})
target_link_libraries(egret_z3 INTERFACE ${Z3_LIBRARY})
