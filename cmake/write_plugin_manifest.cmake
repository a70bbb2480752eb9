# cmake -DOUT=manifest.json "-DFILES=a.so;b.so" -P write_plugin_manifest.cmake
# File name -> sha256 of the plugins built with this host, which the host trusts
# without a probe (core/plugin/first_party.h).
set(lines)
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  get_filename_component(name ${file} NAME)
  list(APPEND lines "  \"${name}\": \"${hash}\"")
endforeach()
list(JOIN lines ",\n" body)
file(WRITE ${OUT} "{\n${body}\n}\n")
