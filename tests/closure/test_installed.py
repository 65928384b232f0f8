"""What is installed is found with its version, without importing it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.closure.conftest import write

from perdure.closure.installed import Environment, is_standard


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Give a folder of installed distributions, each listed in another way."""
    told = {
        "Solid-1.2.dist-info/METADATA": "Name: Solid\nVersion: 1.2\n",
        "Solid-1.2.dist-info/RECORD": "solid/__init__.py,,\nsolid_single.py,,\nspace/one/a.py,,\n",
        "other-3.0.dist-info/METADATA": "Name: other\nVersion: 3.0\n",
        "other-3.0.dist-info/RECORD": "space/two/a.py,,\n_other.abi3.so,,\nother.json,,\n",
        "other-3.0.dist-info/entry_points.txt": "[worlds]\ntown = space.two.a:Town [extra]\n",
        "old-0.1.dist-info/METADATA": "Name: old\nVersion: 0.1\n",
        "old-0.1.dist-info/top_level.txt": "old_module\n",
        "link-0.2.dist-info/METADATA": "Name: link\nVersion: 0.2\n",
        "link-0.2.dist-info/RECORD": "__editable__link.pth,,\n",
        "link-0.2.dist-info/top_level.txt": "linked\n",
        "link-0.2.dist-info/direct_url.json": (
            '{"dir_info": {"editable": true}, "url": "file:///home/somebody/my%20link"}'
        ),
        "loose.py": "",
    }
    return write(tmp_path / "site", told)


def found(site: Path, module: str) -> list[tuple[str, str]]:
    """Give names and versions of what brings a module."""
    return [(one.name, one.version) for one in Environment([str(site)]).providers(module)]


def test_a_module_is_traced_to_its_distribution(site):
    """By package, by single file, by native file, or by what an old installer wrote."""
    assert found(site, "solid.inner") == [("Solid", "1.2")]
    assert found(site, "solid_single") == [("Solid", "1.2")]
    assert found(site, "_other") == [("other", "3.0")]
    assert found(site, "old_module.part") == [("old", "0.1")]


def test_a_shared_namespace_is_told_apart(site):
    """Of two distributions in one namespace, the one that has the module is named."""
    assert found(site, "space.two.a") == [("other", "3.0")]
    assert sorted(found(site, "space.unknown")) == [("Solid", "1.2"), ("other", "3.0")]


def test_nothing_is_made_up(site):
    """A data file, a distribution's own folder and half a name are no module."""
    for name in ("other", "Solid-1", "sol", "solid_singl", "nothing"):
        assert found(site, name) == []


def test_what_no_version_describes_is_a_stray(site):
    """A loose file, and a link to somebody's source, have a place and no distribution."""
    environment = Environment([str(site)])
    assert environment.stray("loose") == str(site / "loose.py")
    assert found(site, "linked") == []
    assert environment.stray("linked") == "/home/somebody/my link"
    assert environment.stray("nothing") == ""


def test_entry_points_are_listed(site):
    """The entry points of a group are found, without their extras."""
    environment = Environment([str(site)])
    assert environment.entry_points("worlds") == ("space.two.a:Town",)
    assert environment.entry_points("agents") == ()


def test_path_files_are_read(site, tmp_path):
    """A line of a `.pth` file adds a folder, or is code that imports when Python starts."""
    lines = "linked\n# a comment\n\nimport os; x = 'y'; x and __import__('_hook')\nimport (\n"
    write(site, {"a.pth": f"\ufeff{lines}", "linked/inside.py": "", "_hook.py": ""})
    environment = Environment([str(site)])
    assert environment.startup() == ("os", "_hook")
    assert environment.home("inside.part") == str(site / "linked")
    assert environment.home("_hook") == str(site)
    assert environment.home("nothing") == ""


def test_what_comes_with_a_module_is_found(site):
    """The other modules of its distribution, and nothing that is no module."""
    environment = Environment([str(site)])
    assert environment.siblings("solid.inner") == {"solid", "solid_single", "space"}
    assert environment.siblings("_other") == {"_other", "space"}
    assert environment.siblings("nothing.at.all") == {"nothing"}


def test_the_running_python_is_known():
    """What is installed here is found here, and the standard library is standard."""
    names = {one.name.lower() for one in Environment().providers("yaml")}
    assert names == {"pyyaml"}
    assert is_standard("os.path")
    assert not is_standard("yaml")
