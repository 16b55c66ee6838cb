"""Functions with state as classes: steps that keep what they change from run to run."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import tfc.aot
from tfc.errors import TfcError

EXAMPLE = Path(__file__).parents[2] / "examples" / "cpp" / "learning"


def moved(state, x):
    """A state of two arrays, of which one only grows, and a result that depends on the old one."""
    return {"count": state["count"] + 1, "sum": state["sum"] + x}, state["sum"] * 2, x[0]


STATE = {"count": np.zeros((), np.int32), "sum": np.zeros(2, np.float32)}


def test_state_is_kept_between_runs_and_is_the_users_to_set(cpp):
    made = tfc.aot.compile(moved, STATE, "f32[2]", cpp_class="Moved", out_dir=cpp.folder, state=1)
    assert [v.name for v in made.signature.variables] == ["state_count", "state_sum"]
    program = """
    #include "moved.h"
    int main() {
      Moved first, second(Moved::AllocMode::RESULTS_AND_TEMPS_ONLY);
      alignas(32) float x[2] = {1, 2}, sum[2] = {100, 200};
      std::int32_t count = 7;
      second.set_arg_x_data(x);
      second.set_var_state_count_data(&count);
      second.set_var_state_sum_data(sum);
      first.arg_x(0) = 1;
      first.arg_x(1) = 2;
      for (int run = 1; run < 4; ++run) {
        CHECK(first.Run() && second.Run());
        CHECK(first.var_state_count() == run && count == 7 + run);
        CHECK(first.var_state_sum(1) == static_cast<float>(2 * run));
        CHECK(first.result0(1) == static_cast<float>(4 * (run - 1)) && first.result1() == 1);
        CHECK(sum[0] == static_cast<float>(100 + run));
      }
      CHECK(Moved::kNumVariables == 2 && Moved::kNumArgs == 3 && Moved::kNumResults == 4);
      return failures;
    }
    """
    cpp.run([program], [made.object])


def test_a_step_of_training_learns_in_cpp(cpp):
    runpy.run_path(str(EXAMPLE / "make_step.py"))["main"](str(cpp.folder))
    printed = cpp.run([EXAMPLE / "main.cc"], [cpp.folder / "step.o"], "-O1")
    assert printed.splitlines()[-1] == "learned"


@pytest.mark.parametrize(
    ("function", "state", "message"),
    [
        (lambda s, x: (s, x), 3, "state must be 1 to 2, as there are so many arguments, got 3"),
        (lambda s, x: s, 1, "must return a tuple that begins with its 1 arguments of state"),
        (lambda s, x: (x[0], x), 1, r"the state s is f32\[2\], but becomes f32\[\]"),
        (lambda s, x: ((), x), 1, "must return its state in the containers that it takes it in"),
        (3, 1, "state is of functions, got int"),
    ],
)
def test_what_does_not_give_its_state_is_refused(tmp_path, function, state, message):
    with pytest.raises(TfcError, match=message):
        tfc.aot.compile(function, "f32[2]", "f32[2]", cpp_class="C", out_dir=tmp_path, state=state)
    assert list(tmp_path.iterdir()) == []
