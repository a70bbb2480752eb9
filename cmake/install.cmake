# What `cmake --install` and `cpack` put where. The tree runs from anywhere:
# bin/titan finds lib/ relative to itself, plugins carry no rpath at all.
#   bin/titan                      lib/          LibTorch and small libraries
#   lib/titan/plugins/             include/titan/
#   lib/cmake/Titan/               find_package(Titan) for plugins out of tree
#   share/titan/{configs,assets,examples,templates}   share/doc/titan/
option(TITAN_BUNDLE_LIBTORCH "Install LibTorch beside titan" ON)
set(TITAN_PLUGIN_DESTINATION lib/titan/plugins)

# Before any target is made: executables take it as their property's default.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
if(NOT TITAN_BUNDLE_LIBTORCH)
  list(APPEND CMAKE_INSTALL_RPATH "${TITAN_LIBTORCH_DIR}/lib")
endif()

# The five libraries that libtorch_cpu.so needs and a system may lack.
if(TITAN_BUNDLE_LIBTORCH)
  foreach(library libtorch_cpu.so libc10.so libgomp.so.1 libcudart.so.13
          libcupti.so.13)
    if(EXISTS "${TITAN_LIBTORCH_DIR}/lib/${library}")
      install(PROGRAMS "${TITAN_LIBTORCH_DIR}/lib/${library}" DESTINATION lib)
    endif()
  endforeach()
endif()

install(DIRECTORY plugin_api/include/titan DESTINATION include)
install(DIRECTORY plugin_api/templates/ DESTINATION share/titan/templates OPTIONAL)
install(DIRECTORY configs/ DESTINATION share/titan/configs OPTIONAL)
install(DIRECTORY examples/ DESTINATION share/titan/examples OPTIONAL)
install(DIRECTORY assets/ DESTINATION share/titan/assets OPTIONAL)
install(FILES LICENSE README.md DESTINATION share/doc/titan)

include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/TitanConfigVersion.cmake
  COMPATIBILITY SameMajorVersion ARCH_INDEPENDENT)
install(FILES cmake/TitanConfig.cmake cmake/titan_plugin.cmake plugin_api/plugin.map
  ${CMAKE_BINARY_DIR}/generated/TitanConfigVersion.cmake DESTINATION lib/cmake/Titan)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME titan)
set(CPACK_PACKAGE_FILE_NAME titan-${PROJECT_VERSION}-linux-x86_64)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)

# install_titan(<target>): the executable and the small shared libraries of
# Debian that it links, so that the tree also runs where they are not installed.
function(install_titan target)
  install(TARGETS ${target} RUNTIME DESTINATION bin)
  install(CODE "
    file(GET_RUNTIME_DEPENDENCIES EXECUTABLES $<TARGET_FILE:${target}>
      RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR unknown
      POST_INCLUDE_REGEXES [[/lib(yaml-cpp|spdlog|fmt|pcre2-8|utf8proc|z|zstd|xxhash)[.]so]]
      POST_EXCLUDE_REGEXES [[.*]])
    foreach(library IN LISTS found)
      file(INSTALL \${library} DESTINATION \${CMAKE_INSTALL_PREFIX}/lib
        FOLLOW_SYMLINK_CHAIN)
    endforeach()")
endfunction()
