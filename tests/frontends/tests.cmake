egret_tests(frontends DEPS frontends)
