"""The package as it is shipped: source archive, wheel, command, type hints, and the README's example."""

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import skipattn

ROOT = Path(__file__).parents[2]


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_source_archive_holds_the_tree(tmp_path):
    make = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    run(sys.executable, "-c", make, tmp_path, cwd=ROOT)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert not [name for name in names if re.match(r"build/|\.deps/|\.git/|.*\.so$", name)]
    assert {"pyproject.toml", "CMakeLists.txt", "python/src/core.cc", "cmake/fetch-highway.sh"} <= names
    if (ROOT / ".git").exists():
        tracked = run("git", "ls-files", "--deduplicate", cwd=ROOT).splitlines()
        assert {name for name in tracked if (ROOT / name).exists()} - names <= {".gitignore"}


def test_the_wheel_works_in_an_empty_environment(tmp_path):
    """Built in build/python, where all is compiled already."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "-C", f"build-dir={ROOT / 'build/python'}"]
    run(*pip, "wheel", ROOT, *options, "-w", tmp_path, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    check_contents(wheel)

    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty/bin/python"
    run(python, "-m", "pip", "--disable-pip-version-check", "install", wheel)
    run(python, "-c", README_EXAMPLE, cwd=tmp_path)
    info = json.loads(run(python, "-m", "skipattn", "info", "--json", cwd=tmp_path))
    assert info["version"] == skipattn.__version__
    assert "explain" in run(tmp_path / "empty/bin/skipattn", "--help", cwd=tmp_path)


def check_contents(wheel):
    """The package alone: nothing of the C++ installation."""
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
    sources = ROOT / "python/skipattn"
    package = {
        f"skipattn/{path.relative_to(sources)}"
        for path in [*sources.rglob("*.py"), sources / "py.typed"]
    }
    (module,) = (name for name in names if name.startswith("skipattn/_core.") and name.endswith(".so"))
    assert names == package | {module, "skipattn/_core.pyi", "skipattn/bin/skipattn"}


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)


README_EXAMPLE = "\n".join(python_blocks("README.md"))


@pytest.mark.parametrize("path", ["README.md", "python/README.md"])
def test_the_examples_of_the_readmes_run(path, tmp_path):
    blocks = python_blocks(path)
    assert blocks
    run(sys.executable, "-W", "error", "-c", "\n".join(blocks), cwd=tmp_path)


def test_the_command():
    info = json.loads(run(sys.executable, "-m", "skipattn", "info", "--json"))
    assert info["version"] == skipattn.__version__ and info["threads"] == skipattn.info()["threads"]
    done = subprocess.run([sys.executable, "-m", "skipattn", "nonesuch"], capture_output=True, check=False)
    assert done.returncode != 0


def test_without_the_command(tmp_path):
    """Where the command could not be built, it says what is missing."""
    main = Path(skipattn.__file__).parent / "__main__.py"
    copy = tmp_path / "__main__.py"
    copy.write_text(main.read_text())
    done = subprocess.run([sys.executable, copy, "info"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "CLI11" in done.stderr and "nlohmann-json" in done.stderr


def test_info():
    info = skipattn.info()
    assert re.fullmatch(r"\d+\.\d+\.\d+", skipattn.__version__) and info["arithmetic_version"] >= 1
    best = next(target for target in info["targets"] if target["name"] == info["target"])
    assert best["supported"] and best["lanes"] > 0 and best["configs"]
    assert info["threads"] >= 1 and info["compiler"] and isinstance(info["openmp"], bool)
    assert info["threads"] <= (os.cpu_count() or 1)


def test_type_hints(tmp_path):
    pytest.importorskip("mypy")
    use = tmp_path / "use.py"
    use.write_text(
        "import skipattn as sa\n"
        "mask: sa.Mask = sa.mask.causal('top_left') & sa.mask.key_lengths([1])\n"
        "plan: sa.Plan = sa.plan((1, 1, 2, 4), (1, 1, 2, 4), (1, 1, 2, 4), mask=mask)\n"
        "rows: int = plan.stats.empty_rows\n"
        "text: str = plan.describe()\n"
        "plan.run(1, 2, 3, return_lse=True, threads=None)\n"
        "sa.attention(1, 2, 3, layout='bthd')\n"
    )
    modules = ["skipattn", *(f"skipattn.{name}" for name in ("bias", "mask", "onnx", "_attention", "__main__"))]
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache"]
    run(*mypy, *(f"-m{module}" for module in modules), cwd=tmp_path)
    run(*mypy, use, cwd=tmp_path)
    use.write_text("import skipattn as sa\nsa.attention(1, 2, 3, layout='btdh')\nsa.plan(1)\n")
    done = subprocess.run([*map(str, mypy), use], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1 and "[arg-type]" in done.stdout and "[call-arg]" in done.stdout


def test_everything_public_has_a_docstring():
    public = [getattr(skipattn, name) for name in skipattn.__all__]
    public += [getattr(skipattn.mask, name) for name in skipattn.mask.__all__]
    public += [skipattn.Plan.run, skipattn.Plan.stats, skipattn.Plan.describe]
    public += [getattr(skipattn.PlanStats, name) for name in dir(skipattn.PlanStats) if name[0] != "_"]
    assert not [thing for thing in public if not (thing.__doc__ or "").strip()]
