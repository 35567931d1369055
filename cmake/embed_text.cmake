# Writes OUTPUT, a C++ source in which FUNCTION of namespace egret::NAMESPACE, declared in HEADER,
# returns the text of INPUT.
#   cmake -DINPUT=... -DOUTPUT=... -DHEADER=... -DNAMESPACE=... -DFUNCTION=... -P embed_text.cmake
file(READ ${INPUT} content)
file(WRITE ${OUTPUT} "// Generated from ${INPUT} by cmake/embed_text.cmake.\n#include \"${HEADER}\"\n\n"
  "namespace egret::${NAMESPACE} {\n\n"
  "std::string_view ${FUNCTION}() { return R\"egret(${content})egret\"; }\n\n"
  "}  // namespace egret::${NAMESPACE}\n")
