egret_tests(ir DEPS ir)
