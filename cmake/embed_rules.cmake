# Writes OUTPUT, a C++ source that holds the rule files of DIRECTORY and its folders, and their
# statuses: status.json and *.rules.status.json.
#   cmake -DDIRECTORY=rules/data -DOUTPUT=builtin_rules.cc -P cmake/embed_rules.cmake
file(GLOB files ${DIRECTORY}/*.rules ${DIRECTORY}/*/*.rules)
list(SORT files)
set(text "// Generated from rules/data by cmake/embed_rules.cmake.\n#include \"rules/language/builtin_rules.h\"\n#include \"rules/tensors/rule_set.h\"\n\n")
string(APPEND text "namespace egret::rules {\n\nnamespace {\n\nconstexpr RuleFile kFiles[] = {\n")
foreach(path ${files})
  file(RELATIVE_PATH name ${DIRECTORY} ${path})
  file(READ ${path} content)
  string(APPEND text "    {\"${name}\", R\"egret(${content})egret\"},\n")
endforeach()
string(APPEND text "};\n\nconstexpr std::string_view kTexts[] = {\n")
list(LENGTH files count)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(APPEND text "    kFiles[${i}].text,\n")
endforeach()
string(APPEND text "};\n\nconstexpr std::string_view kStatuses[] = {\n")
file(GLOB statuses ${DIRECTORY}/status.json ${DIRECTORY}/*.status.json ${DIRECTORY}/*/*.status.json)
list(SORT statuses)
if(NOT statuses)
  string(APPEND text "    \"{}\",\n")
endif()
foreach(path ${statuses})
  file(READ ${path} content)
  string(APPEND text "    R\"egret(${content})egret\",\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\n"
  "std::span<const RuleFile> builtin_rule_files() { return kFiles; }\n"
  "std::span<const std::string_view> builtin_rule_texts() { return kTexts; }\n"
  "std::span<const std::string_view> builtin_rule_statuses() { return kStatuses; }\n\n"
  "}  // namespace egret::rules\n")
file(WRITE ${OUTPUT} "${text}")
