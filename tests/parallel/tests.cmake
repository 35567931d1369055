egret_tests(parallel DEPS parallel runtime)
