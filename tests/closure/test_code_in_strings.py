"""Code that is handed over as a string may import whatever it names, whoever executes it."""

from __future__ import annotations

import pytest

from perdure.closure.check import Standing, check

FILES = {
    "pk/__init__.py": "",
    "pk/t.py": "",
    "pk/u.py": "",
    "helper.py": "",
    "alone.py": "",
    "pk/beside.py": "",
}


def standing(walks, text: str, name: str) -> Standing:
    """Give what a name stands for in a program whose entry is this text."""
    return check(walks(FILES | {"start.py": f"import helper\n{text}\n"}), [name])[0].standing


@pytest.mark.parametrize(
    "text",
    [
        "import timeit\ntimeit.timeit('import pk.t', number=1)",
        "import helper,timeit\nprint(timeit.repeat(open('x').read()))",
        "from timeit import (\n    Timer,\n)\nTimer(helper.CODE).timeit()",
        "import doctest\ndoctest.run_docstring_examples('>>> import pk.t', {})",
        "import doctest\ndef f():\n    '''>>> import pk.t'''\ndoctest.testmod()",
        "import helper,trace\ntrace.Trace().run('import pk.t')",
        "import helper, \\\n    bdb\nbdb.Bdb().run(helper.CODE)",
        "import bdb\nclass Own(bdb.Bdb):\n    pass\nOwn().run(helper.CODE)",
        "import helper,code\ncode.InteractiveConsole().push(helper.CODE)",
        "import helper,code\ncode.InteractiveInterpreter().runsource('import pk.t')",
        "import profile\nprofile.run(helper.CODE)",
        "import helper,cProfile\ncProfile.Profile().run(helper.CODE)",
        "import pdb\npdb.run(helper.CODE)",
        "import typing\nclass A:\n    x: '__import__(chr(112))'\ntyping.get_type_hints(A)",
        "helper.run('import pk.t')",
        "helper.run('import helper as h, pk.t as t')",
        "helper.run('x = 1; from pk import u, t')",
        "import pk\nhelper.run('from pk import (\\n    u,\\n    t)')",
        "import pk\nhelper.run('from pk import *')",
        "import pk\nCODE = '''\nimport pk.t\n'''",
        "helper.run(f'import pk.{helper.NAME}')",
        "helper.run(\"importlib.import_module('p' + 'k.t')\")",
    ],
)
def test_what_code_in_a_string_may_import_is_never_safe(walked, text):
    """An executor of strings may import anything; a string of code what its statements name."""
    assert standing(walked, text, "pk.t") is Standing.UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "helper.run('import pk.t')",
        "print('what is important for pk.t imports nothing')",
        "import timeit\nnow = timeit.default_timer()",
        "'''Example: import alone'''",
        "codes = {'code': 1}",
    ],
)
def test_what_such_code_does_not_name_stays_safe(walked, text):
    """A string of code makes nothing unknown but what it names; words and docstrings nothing."""
    assert standing(walked, text, "alone") is Standing.SAFE


def test_code_inside_a_package_names_what_is_beside_it(walked):
    """A relative import in a string counts from the package of the module that has it."""
    files = FILES | {"start.py": "import helper, pk.u", "pk/u.py": "go('from . import beside')"}
    found = walked(files)
    standings = [one.standing for one in check(found, ["pk.beside", "pk.t"])]
    assert standings == [Standing.UNKNOWN, Standing.SAFE]
