egret_tests(base DEPS base)
