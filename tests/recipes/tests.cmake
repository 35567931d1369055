# Recipes of docs/adding_*.md, followed in a copy of the sources. They build most of the project once
# more, hence the label.
find_package(Python3 3.9 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME recipes.adding_an_operator
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/recipes/adding_an_operator_test.py)
  set_tests_properties(recipes.adding_an_operator PROPERTIES LABELS slow TIMEOUT 1800)
endif()
