egret_tests(tools DEPS tools base cost frontends ir rules)
add_dependencies(tools_tests egret)
