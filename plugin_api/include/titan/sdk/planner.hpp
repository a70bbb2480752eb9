// SPDX-License-Identifier: BSD-3-Clause
// Planners, kind titan.parallel/1, from a class to its C table. It has
//   static constexpr std::string_view kPhase    expert | tensor | context | ...
//   Json plan(const Json& request) const        pure; same request, same bytes
#pragma once

#include <titan/json.hpp>
#include <titan/sdk/object.hpp>

namespace titan::detail {

template <typename Planner>
int32_t plan_trampoline(const titan_object* self,
                        titan_str request,
                        const titan_text_sink* sink,
                        titan_error* error) noexcept {
  return guard(error, [&] {
    const Json parsed = Json::parse(view(request));
    write_text(*sink, object<Planner>(self).plan(parsed).dump());
  });
}

template <typename Planner>
class PlannerTable {
 public:
  template <typename Description>
  explicit PlannerTable(const Description&) {
    table_.struct_size = sizeof(table_);
    table_.phase = str(Planner::kPhase);
    table_.create = create_object<Planner>;
    table_.destroy = destroy_object<Planner>;
    table_.plan = plan_trampoline<Planner>;
  }
  const void* get() const { return &table_; }

 private:
  titan_parallel_table table_{};
};

}  // namespace titan::detail
