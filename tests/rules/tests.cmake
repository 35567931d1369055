egret_tests(rules DEPS rules)
