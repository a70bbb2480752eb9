# titan_add_plugin(<name> [NO_INSTALL] SOURCES ...): a Titan plugin, inside this
# tree or out of it; NO_INSTALL for those of tests. Sees plugin_api only: no
# LibTorch include path, one exported symbol, nothing unresolved.
function(titan_add_plugin name)
  cmake_parse_arguments(ARG "NO_INSTALL" "" "SOURCES" ${ARGN})
  add_library(${name} MODULE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE titan::plugin_api)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE
    -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique -Wall -Wextra)
  target_link_options(${name} PRIVATE
    "-Wl,--version-script=${TITAN_PLUGIN_API_DIR}/plugin.map"
    -Wl,-z,defs -Wl,-z,now -Wl,-z,noexecstack -Wl,--build-id)
  # No rpath: installing must not change a byte, the host checks the hash.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
    SKIP_BUILD_RPATH ON INSTALL_RPATH "")
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${name} LIBRARY DESTINATION ${TITAN_PLUGIN_DESTINATION})
    set_property(GLOBAL APPEND PROPERTY TITAN_PLUGINS ${name})
  endif()
endfunction()

# Writes manifest.json beside the plugins of this build.
function(titan_write_plugin_manifest)
  get_property(plugins GLOBAL PROPERTY TITAN_PLUGINS)
  set(files)
  foreach(plugin IN LISTS plugins)
    list(APPEND files $<TARGET_FILE:${plugin}>)
  endforeach()
  set(manifest ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/manifest.json)
  set(script ${CMAKE_SOURCE_DIR}/cmake/write_plugin_manifest.cmake)
  add_custom_command(OUTPUT ${manifest}
    COMMAND ${CMAKE_COMMAND} -DOUT=${manifest} "-DFILES=${files}" -P ${script}
    DEPENDS ${plugins} ${script} VERBATIM)
  add_custom_target(titan_plugin_manifest ALL DEPENDS ${manifest})
  install(FILES ${manifest} DESTINATION ${TITAN_PLUGIN_DESTINATION})
endfunction()
