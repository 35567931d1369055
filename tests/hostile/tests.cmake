# Malformed and malicious files: a located error, in time and memory.
egret_tests(hostile DEPS frontends)
