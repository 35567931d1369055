egret_tests(backends DEPS backends)
