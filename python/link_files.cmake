# Links each Python file of FROM into TO.
file(GLOB files ${FROM}/*.py ${FROM}/*.pyi ${FROM}/py.typed)
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  file(CREATE_LINK ${file} ${TO}/${name} SYMBOLIC)
endforeach()
