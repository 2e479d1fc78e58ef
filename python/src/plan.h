// Plans and their runs.
#ifndef SKIPATTN_PYTHON_PLAN_H_
#define SKIPATTN_PYTHON_PLAN_H_

#include <nanobind/nanobind.h>

namespace skipattn::python {

/// Defines the classes Plan and PlanStats and the function that makes plans.
void BindPlan(nanobind::module_& module);

}  // namespace skipattn::python

#endif  // SKIPATTN_PYTHON_PLAN_H_
