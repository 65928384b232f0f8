"""Loading a user's own classes."""

from pathlib import Path

import pytest

from perdure.base.errors import PluginError
from perdure.records.scenario import AgentSettings
from perdure.runner.plugins import PluginParts, load


def test_a_class_beside_the_study_is_loaded(tmp_path: Path):
    """`module:Class` finds the module in the study's folder, and a module beside that one."""
    (tmp_path / "square_helper.py").write_text("SIDES = 4\n")
    (tmp_path / "my_square.py").write_text(
        "from square_helper import SIDES\nclass Town:\n    sides = SIDES\n"
    )
    assert load("my_square:Town", tmp_path).sides == 4


def test_two_studies_may_use_the_same_module_name(tmp_path: Path):
    """Each study gets the module of its own folder, in one process."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "my_town.py").write_text(f"class Town:\n    name = {name!r}\n")
    assert load("my_town:Town", tmp_path / "one").name == "one"
    assert load("my_town:Town", tmp_path / "two").name == "two"
    assert load("my_town:Town", tmp_path / "one").name == "one"


def test_an_installed_class_is_loaded(tmp_path: Path):
    """A module that is not beside the study is taken from the installed packages."""
    assert load("perdure.world:ChannelWorld", tmp_path).__name__ == "ChannelWorld"


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("no_such_module_here:Town", "could not be imported"),
        ("broken:Town", "ZeroDivisionError"),
        ("plain:Town", "no class 'Town'"),
        ("plain:value", "no class 'value'"),
    ],
)
def test_what_cannot_be_loaded_is_named(tmp_path: Path, reference: str, says: str):
    """A missing module, one that raises, and a missing class each end in a sentence."""
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "plain.py").write_text("value = 3\n")
    with pytest.raises(PluginError, match=says):
        load(reference, tmp_path)


def test_a_class_that_lacks_a_method_is_named(tmp_path: Path):
    """Before anything begins, with all that it lacks: not in the middle of a run."""
    (tmp_path / "bare.py").write_text("class Bare:\n    def act(self): ...\n")
    with pytest.raises(PluginError, match="no method reset and no method needs and no method step"):
        PluginParts(AgentSettings(), ["bare:Bare"], tmp_path)
    with pytest.raises(PluginError, match="'Bare' has no method reset"):
        PluginParts(AgentSettings(agent="bare:Bare"), [], tmp_path)
