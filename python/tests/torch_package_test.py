"""skipattn.torch as it is shipped: the README's example, docstrings, type hints, and nothing printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import skipattn.torch as st  # noqa: E402

README = Path(__file__).parents[1] / "README.md"


def run(*command, cwd):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd)


def test_the_readmes_example(tmp_path):
    (example,) = re.findall(r"```py\n(.*?)```", README.read_text(), re.DOTALL)
    done = run(sys.executable, "-c", example + "compiled(q, k, v)\n", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "1 Counter()\n"


def test_plans_that_outlive_the_program_are_not_reported(tmp_path):
    program = "import torch, skipattn.torch as st\nq = torch.zeros(1, 1, 2, 4)\nst.attention(q, q, q)\n"
    done = run(sys.executable, "-c", program, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_everything_public_has_a_docstring():
    assert all((getattr(st, name).__doc__ or "").strip() for name in st.__all__)


def test_type_hints(tmp_path):
    pytest.importorskip("mypy")
    use = tmp_path / "use.py"
    use.write_text("import torch\n"
                   "import skipattn as sa\n"
                   "import skipattn.torch as st\n"
                   "x = torch.zeros(1, 1, 2, 4)\n"
                   "y: torch.Tensor = st.scaled_dot_product_attention(x, x, x, is_causal=True)\n"
                   "m: sa.Mask = st.mask_from_key_padding(torch.zeros(1, 2, dtype=torch.bool)) & sa.mask.causal()\n"
                   "st.attention(x, x, x, m, layout='bhtd')\n"
                   "with st.enabled() as e:\n"
                   "    calls: int = e.calls\n")
    done = run(sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", tmp_path / "cache", use,
               cwd=tmp_path)
    assert done.returncode == 0, done.stdout
