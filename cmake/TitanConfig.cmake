# find_package(Titan) for plugins outside Titan's tree:
#   find_package(Titan REQUIRED)
#   titan_add_plugin(acme_norms SOURCES norms.cpp)
# Provides titan::plugin_api (headers only) and titan_add_plugin.
get_filename_component(TITAN_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(TITAN_PLUGIN_API_DIR "${CMAKE_CURRENT_LIST_DIR}")
set(TITAN_PLUGIN_DESTINATION lib/titan/plugins)

if(NOT TARGET titan::plugin_api)
  add_library(titan::plugin_api INTERFACE IMPORTED)
  target_include_directories(titan::plugin_api INTERFACE "${TITAN_PREFIX}/include")
endif()
include("${CMAKE_CURRENT_LIST_DIR}/titan_plugin.cmake")
