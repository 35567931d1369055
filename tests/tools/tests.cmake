egret_tests(tools DEPS tools base)
add_dependencies(tools_tests egret)
