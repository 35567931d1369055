egret_tests(tools DEPS tools base cost)
add_dependencies(tools_tests egret)
