egret_tests(codegen DEPS backends rules)
# More random regions, of both targets, than each run of the tests needs.
add_test(NAME codegen.thousand_random_regions
         COMMAND codegen_tests --gtest_filter=*ComputeRandomRegionsAsOneKernel*)
set_tests_properties(codegen.thousand_random_regions PROPERTIES LABELS slow TIMEOUT 3600
                     ENVIRONMENT "EGRET_RANDOM_REGIONS=1000;${EGRET_TEST_ENVIRONMENT}")
# More random contractions.
add_test(NAME codegen.thousand_random_contractions
         COMMAND codegen_tests --gtest_filter=*Contractions.EqualTheInterpretersResult*)
set_tests_properties(codegen.thousand_random_contractions PROPERTIES LABELS slow TIMEOUT 3600
                     ENVIRONMENT "EGRET_RANDOM_CONTRACTIONS=1000;${EGRET_TEST_ENVIRONMENT}")
