egret_tests(tools DEPS tools base cost ir rules)
add_dependencies(tools_tests egret)
