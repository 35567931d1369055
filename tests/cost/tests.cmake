egret_tests(cost DEPS cost)
