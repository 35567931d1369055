# Recipes of docs/adding_*.md, followed in a copy of the sources. They build most of the project once
# more, hence the label.
find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  foreach(recipe adding_a_backend adding_a_collective adding_a_fusion adding_a_kernel
                 adding_a_machine_preset adding_a_scheduler adding_a_verb adding_an_extractor
                 adding_an_operator)
    add_test(NAME recipes.${recipe}
             COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/recipes/follow_recipe.py ${recipe})
    set_tests_properties(recipes.${recipe} PROPERTIES LABELS slow TIMEOUT 1800)
  endforeach()
  add_test(NAME recipes.operator_tutorial
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/recipes/operator_tutorial.py)
  set_tests_properties(recipes.operator_tutorial PROPERTIES LABELS slow TIMEOUT 1800)
  add_test(NAME recipes.adding_an_engine
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/recipes/adding_an_engine/check.py)
  set_tests_properties(recipes.adding_an_engine PROPERTIES LABELS slow TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
