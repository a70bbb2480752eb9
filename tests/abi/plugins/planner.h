/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest component: a planner that plans nothing. The including file says
 * NAME, ID and what goes wrong. */
#ifndef TITAN_TESTS_PLANNER_H_
#define TITAN_TESTS_PLANNER_H_

#include "note.h"

/* An own id string per plugin, an ABI of 1.<built>, at least 1.<least>. */
#define MANIFEST(name, id, major, built, least, more)           \
  "{\"name\":\"" name                                           \
  "\",\"version\":\"1.0.0\",\"vendor\":\"Test\","               \
  "\"licence\":\"BSD-3-Clause\",\"abi\":{\"major\":" #major     \
  ",\"minor_built\":" #built ",\"minor_min\":" #least "}," more \
  "\"components\":[{\"kind\":\"titan.parallel/1\",\"id\":\"" id \
  "\",\"summary\":\"Plans "                                     \
  "nothing.\",\"config_schema\":{\"type\":\"object\"}}]}"

static char an_object;

static int32_t create(const titan_host_api* host,
                      const titan_config* config,
                      titan_object** out,
                      titan_error* error) {
  (void)host, (void)config, (void)error;
  *out = (titan_object*)&an_object;
  return 0;
}

static void destroy(titan_object* object) {
  (void)object;
}

static int32_t plan(const titan_object* object,
                    titan_str request,
                    const titan_text_sink* sink,
                    titan_error* error) {
  static const titan_str empty = STR("{}");
  (void)object, (void)request, (void)error;
  sink->write(sink->self, empty);
  return 0;
}

static const titan_parallel_table table =
    {sizeof(titan_parallel_table), 0, STR("data"), create, destroy, plan};

#define COMPONENT(component_id)                                              \
  static const titan_component component = {sizeof(titan_component),         \
                                            0,                               \
                                            STR("titan.parallel/1"),         \
                                            STR(component_id),               \
                                            STR("Plans nothing."),           \
                                            STR("{ \"type\": \"object\" }"), \
                                            &table};                         \
  static const titan_component* const components[] = {&component}

#define FILL(out, plugin_name)                \
  do {                                        \
    const titan_str name_ = STR(plugin_name); \
    const titan_str version_ = STR("1.0.0");  \
    const titan_str vendor_ = STR("Test");    \
    (out)->abi_minor_built = 0;               \
    (out)->abi_minor_min = 0;                 \
    (out)->name = name_;                      \
    (out)->version = version_;                \
    (out)->vendor = vendor_;                  \
    (out)->components = components;           \
    (out)->num_components = 1;                \
  } while (0)

#endif
