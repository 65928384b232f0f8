"""Ways to load a module that nothing names: each program is run, and what it loads is never safe.

The program lies as people lay one out: its entry in a folder, its modules below that in `src`. The
name that it loads is given to it on its command line, so that no string of it says what that is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.closure.conftest import write
from tests.support.sizes import some

from perdure.closure.check import Standing, check
from perdure.closure.program import Program, closure_of

# Sorts before `src`, which is itself a namespace in the folder of the entry.
HIDDEN = "oth.b"
AROUND = {
    "src/oth/__init__.py": "",
    "src/oth/b.py": "x = C = None\n",
    "src/static.py": "",
    "src/free.py": "",
}
_TELL = """
import json as _json, sys as _sys
_own = {n: m.__file__ for n, m in list(_sys.modules.items()) if getattr(m, "__file__", None)}
print("@@" + _json.dumps(_own))
"""


class Way(NamedTuple):
    """A program: what its entry says, its other files, and what is safe all the same.

    `loads` is what it is told on its command line to load, and really loads; `unseen` says that it
    executes the file and leaves no module.
    """

    run: str
    files: Mapping[str, str] = {}
    safe: tuple[str, ...] = ()
    loads: str = HIDDEN
    unseen: bool = False


def core(text: str, run: str = "import core, static\n", **rest: object) -> Way:
    """Make a program whose one module of its own, beside what is around it, says this."""
    return Way(run, {"src/core.py": text}, **rest)  # type: ignore[arg-type]


# A beginning is known, or a name: what begins otherwise is safe.
KNOWN = {
    "an f-string": core(
        "import importlib, sys\nimportlib.import_module(f'oth.{sys.argv[1][4:]}')", safe=("free",)
    ),
    "half a word": core(
        "import importlib, sys\nimportlib.import_module('ot' + sys.argv[1][2:])", safe=("free",)
    ),
    "a name that is asked for": core(
        "import importlib\ndef __getattr__(n):\n    return importlib.import_module('oth.' + n)\n",
        "import core, static\ncore.b",
        safe=("free",),
    ),
    "all of a package": Way(
        "import static\nfrom oth import *",
        {"src/oth/__init__.py": "import sys\n__all__ = [sys.argv[1][4:]]"},
        safe=("free",),
    ),
    "a class of a module": core(
        "import pkgutil, sys\npkgutil.resolve_name(f'oth.b:{sys.argv[1][:0]}x')", safe=("free",)
    ),
    "logging": core(
        "import logging.config as c\nH = {'class': 'oth.b.H'}\n"
        "try:\n    c.dictConfig({'version': 1, 'handlers': {'h': H}})\nexcept ValueError: 0",
        safe=("free",),
    ),
    "a string": core("NAME = 'oth.b'\n__import__(NAME)", safe=("free",)),
    "a patch": core(
        "from unittest.mock import patch\nwith patch('oth' + '.b.x'):\n    pass", safe=("free",)
    ),
    "a parser": core(
        "import xml.sax\n"
        "try:\n    xml.sax.make_parser(['oth' + '.b'])\nexcept AttributeError:\n    pass",
        safe=("free",),
    ),
    "all that is in the folder": core(
        "import importlib, sys\nimportlib.import_module(f'src.{sys.argv[1][4:]}')",
        loads="src.oth.b",
    ),
}


_CORE = "import importlib\nN = 'static'\n_T = ['static']\nTUPLE = ('static',)\n"
_CORE += "def load():\n    return importlib.import_module(N)\n"
_CORE += "def all():\n    for one in _T:\n        importlib.import_module(one)\n"
_CORE += "def each():\n    return [importlib.import_module(name) for name in TUPLE]\n"


def changed(said: str, load: str = "core.load()", **files: str) -> Way:
    """Make a program that changes a constant of another module, and has it imported."""
    others = {f"src/{name}.py": text for name, text in files.items()}
    run = f"import sys, static\nimport core\n{said}\n{load}\n"
    return Way(run, {"src/core.py": _CORE} | others)


NEW = "sys.argv[1]"
CHANGED = {
    "an attribute": changed(f"core.N = {NEW}"),
    "an alias": changed(f"import core as c\nc.N = {NEW}"),
    "an annotated attribute": changed(f"core.N: str = {NEW}"),
    "an augmented one": changed(f"core.N = core.N[:0]\ncore.N += {NEW}"),
    "one of a tuple": changed(f"core.N, x = {NEW}, 1"),
    "a starred one": changed(f"*core.TUPLE, x = {NEW}, 1", "core.each()"),
    "a loop": changed(f"for core.N in [{NEW}]:\n    pass"),
    "a comprehension": changed(f"[0 for core.N in [{NEW}]]"),
    "a with": changed(
        f"import contextlib\nwith contextlib.nullcontext({NEW}) as core.N:\n    pass"
    ),
    "another module": changed("import other", other=f"import core, sys\ncore.N = {NEW}"),
    "a function": changed(f"def go(m):\n    m.N = {NEW}\ngo(core)"),
    "another function": changed(
        f"import other\nother.go(core, {NEW})", other="def go(m, x):\n    m.N = x"
    ),
    "another name": changed(f"other = core\nother.N = {NEW}"),
    "a module among others": changed(f"for m in [core, static]:\n    m.N = {NEW}"),
    "an attribute of a package": Way(
        f"import sys, static, pack\npack.core.N = {NEW}\npack.core.load()\n",
        {"src/pack/__init__.py": "from pack import core", "src/pack/core.py": _CORE},
    ),
    "another name of a package": Way(
        f"import sys, static, pack\npack.c.N = {NEW}\npack.c.load()\n",
        {"src/pack/__init__.py": "from . import core as c", "src/pack/core.py": _CORE},
    ),
    "the table of modules": changed(f"sys.modules['core'].N = {NEW}"),
    "the program itself": Way(
        f"import sys, static, importlib, other\nN = 'static'\nother.go({NEW})\n"
        "importlib.import_module(N)\n",
        {"src/other.py": "def go(x):\n    import __main__\n    __main__.N = x\n"},
    ),
    "the module itself": changed(
        "import own\nown.load()",
        own="import importlib, sys\nN = 'static'\nsys.modules[__name__].N = sys.argv[1]\n"
        "def load():\n    importlib.import_module(N)\n",
    ),
    "a name that was imported": changed(
        f"import taker\ntaker.NAME = {NEW}\ntaker.go()",
        names="NAME = 'static'",
        taker="from names import NAME\ndef go():\n    __import__(NAME)\n",
    ),
    "where a name was imported from": changed(
        f"import names\nnames.NAME = {NEW}\nimport taker",
        names="NAME = 'static'",
        taker="from names import NAME\n__import__(NAME)\n",
    ),
    "a tuple": changed(f"core.TUPLE = ({NEW},)", "core.each()"),
    "a private list": changed(f"core._T = [{NEW}]", "core.all()"),
    "a private list in place": changed(f"core._T.append({NEW})", "core.all()"),
    "a private list by an index": changed(f"core._T[0] = {NEW}", "core.all()"),
    "a private list that is taken": changed(
        f"from core import _T as t\nt.append({NEW})", "core.all()"
    ),
    "a private list under another name": changed(f"t = core._T\nt += [{NEW}]", "core.all()"),
    "a private list that is handed on": changed(
        f"def add(t):\n    t.append({NEW})\nadd(core._T)", "core.all()"
    ),
    "setattr": changed(f"setattr(core, 'N', {NEW})"),
    "setattr of a name": changed(f"for k in ['x', 'N']:\n    setattr(core, k, {NEW})"),
    "setattr handed on": changed(f"list(map(setattr, [core], ['N'], [{NEW}]))"),
    "setattr in a helper": changed(
        f"import other\nother.put(core, 'N', {NEW})",
        other="def put(m, n, x):\n    setattr(m, n, x)",
    ),
    "setattr of what was looked up": changed(
        f"import other\nother.put('core', 'N', {NEW})",
        other="import sys\ndef put(m, n, x):\n    setattr(sys.modules[m], n, x)",
    ),
    "setattr of what was imported": changed(
        f"import other\nother.put('core', 'N', {NEW})",
        other="import importlib\ndef put(m, n, x):\n    m = importlib.import_module(m)\n"
        "    setattr(m, n, x)",
    ),
    "__setattr__": changed(f"core.__setattr__('N', {NEW})"),
    "__setattr__ kept": changed(f"f = core.__setattr__\nf('N', {NEW})"),
    "__setattr__ handed on": changed(f"list(map(core.__setattr__, ['N'], [{NEW}]))"),
    "__getattribute__": changed(f"core.__getattribute__('__dict__')['N'] = {NEW}"),
    "__getattribute__ kept": changed(
        f"g = core.__getattribute__\ng('__dict__').update({{'N': {NEW}}})"
    ),
    "getattr of its own ways": changed(f"f = getattr(core, '__setat' + 'tr__')\nf('N', {NEW})"),
    "getattr of its namespace": changed(f"getattr(core, '__dict__')['N'] = {NEW}"),
    "__setattr__ of its type": changed(f"type(core).__setattr__(core, 'N', {NEW})"),
    "a patch": changed(
        f"from unittest.mock import patch\npatch('core.N', {NEW}).start()",
    ),
    "a patch of an object": changed(
        f"from unittest import mock\nmock.patch.object(core, 'N', {NEW}).start()",
    ),
    "a patch of several": changed(
        f"import unittest.mock as m\nm.patch.multiple(core, N={NEW}).start()",
    ),
    "a patch of a namespace": changed(
        f"from unittest.mock import patch\npatch.dict(core.__dict__, N={NEW}).start()",
    ),
    "a patch of a namespace by name": changed(
        f"from unittest.mock import patch\npatch.dict('core.__dict__', N={NEW}).start()",
    ),
    "vars": changed(f"vars(core)['N'] = {NEW}"),
    "the namespace": changed(f"core.__dict__['N'] = {NEW}"),
    "the namespace, all at once": changed(f"core.__dict__.update(N={NEW})"),
    "the namespace, by pairs": changed(f"core.__dict__.update([('N', {NEW})])"),
    "the namespace, joined": changed(f"d = core.__dict__\nd |= {{'N': {NEW}}}"),
    "the namespace of a function": changed(f"core.load.__globals__['N'] = {NEW}"),
    "the namespace, handed on": changed(
        f"import operator\noperator.setitem(core.__dict__, 'N', {NEW})"
    ),
    "globals": changed(
        f"import own\nown.put('N', {NEW})\nown.load()",
        own="import importlib\nN = 'static'\ndef put(n, x):\n    globals()[n] = x\n"
        "def load():\n    importlib.import_module(N)\n",
    ),
    "globals, all at once": changed(
        f"import own\nown.put({NEW})\nown.load()",
        own="import importlib\nN = 'static'\ndef put(x):\n    globals().update(N=x)\n"
        "def load():\n    importlib.import_module(N)\n",
    ),
    "global": changed(
        f"import own\nown.put({NEW})\nown.load()",
        own="import importlib\nN = 'static'\ndef put(x):\n    global N\n    N = x\n"
        "def load():\n    importlib.import_module(N)\n",
    ),
    "all of a package": Way(
        f"import sys, static, pack\npack.__all__ = [{NEW}[5:]]\nfrom pack import *",
        {"src/pack/__init__.py": "__all__ = ['a']", "src/pack/a.py": "", "src/pack/b.py": ""},
        loads="pack.b",
    ),
    "all of a package, in place": Way(
        f"import sys, static, pack\npack.__all__.append({NEW}[5:])\nfrom pack import *",
        {"src/pack/__init__.py": "__all__ = ['a']", "src/pack/a.py": "", "src/pack/b.py": ""},
        loads="pack.b",
    ),
    "the package that names are relative to": changed(
        "import own",
        own="import importlib, sys\n__package__ = sys.argv[1][:3]\n"
        "importlib.import_module('.b', __package__)",
    ),
    "the package that imports are relative to": changed(
        "import own", own="import sys\n__package__ = sys.argv[1][:3]\nfrom . import b\n"
    ),
    "the package that a module in another is relative to": changed(
        "import pack.own",
        **{
            "pack/__init__": "",
            "pack/own": "import sys\n__package__ = sys.argv[1][:3]\nfrom . import b\n",
        },
    ),
    "the flag of type checkers": Way(
        "import static, typing\ntyping.TYPE_CHECKING = True\nimport core\n",
        {"src/core.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import oth.b"},
    ),
    "the flag, where it stands": core(
        "import typing\ntyping.TYPE_CHECKING = True\nif typing.TYPE_CHECKING:\n    import oth.b"
    ),
    "the flag, as it was imported": Way(
        "import static, core\ncore.TC = True\ncore.go()\n",
        {
            "src/core.py": "from typing import TYPE_CHECKING as TC\n"
            "def go():\n    if TC:\n        import oth.b\n"
        },
    ),
    "the flag, by its name": Way(
        "import static, typing\nsetattr(typing, 'TYPE_CHECKING', True)\nimport core\n",
        {"src/core.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import oth.b"},
    ),
    "a flag of one's own": Way(
        "import typing_extensions as t, static\nif t.TYPE_CHECKING:\n    import oth.b\n",
        {"src/typing_extensions.py": "TYPE_CHECKING = 1\n"},
    ),
}

# These only look as if they changed something.
UNCHANGED = {
    "an attribute of an object": changed(
        "class A:\n    def __init__(self):\n        self.N = 1\n        setattr(self, 'N', 2)\nA()"
    ),
    "an attribute of another module": changed("import other\nother.N = 1", other="N = 0"),
    "another attribute": changed("core.M = 1\nsetattr(core, 'M', 2)\nvars(core)['M'] = 3"),
    "an attribute that is read": changed("print(core.N, getattr(core, 'N'), vars(core)['N'])"),
    "a list that is read": changed("print(len(core._T), core._T[0])\nfor x in core._T:\n    0"),
    "one of Python's own": changed("import json\njson.N = 1\njson._T = [2]"),
    "a module that is looked at": changed("print(core, hasattr(core, 'N'), isinstance(core, int))"),
    "a name in a function": changed(
        "import other\nclass A:\n    pass\nA.n = 1",
        other="import importlib\ndef go():\n    n = 'static'\n    importlib.import_module(n)\ngo()",
    ),
    "what is asked for and kept": changed(
        "import pack\npack.Thing",
        **{
            "pack/__init__": "from importlib import import_module\n"
            "_WHERE = {'Thing': '.heavy'}\n"
            "def __getattr__(n):\n"
            "    found = getattr(import_module(_WHERE[n], __name__), n)\n"
            "    globals()[n] = found\n"
            "    return found\n",
            "pack/heavy": "Thing = 1",
        },
    ),
}

POINT = "[some.group]\nx = oth.b:C\n"
DISTRIBUTION = {
    "src/dist-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: dist\nVersion: 1.0\n",
    "src/dist-1.0.dist-info/entry_points.txt": POINT,
}
# As an installation for development leaves it.
LINKED = {
    "src/dist.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: dist\nVersion: 1.0\n",
    "src/dist.egg-info/entry_points.txt": POINT,
}
_LOAD = "for p in entry_points(group='some.group'):\n    p.load()\n"
POINTS = {
    "a distribution beside its modules": Way(
        f"import static\nfrom importlib.metadata import entry_points\n{_LOAD}",
        DISTRIBUTION,
        safe=("free",),
    ),
    "one that is installed for development": Way(
        f"import static\nfrom importlib.metadata import entry_points\n{_LOAD}",
        LINKED,
        safe=("free",),
    ),
    "one beside the entry": Way(
        f"import static\nfrom importlib.metadata import entry_points\n{_LOAD}",
        {name.removeprefix("src/"): text for name, text in LINKED.items()},
        safe=("free",),
    ),
    "one that another module asks for": Way(
        "import core, static\n",
        {
            **DISTRIBUTION,
            "src/core.py": "from importlib import metadata as m\n" + _LOAD.replace("ent", "m.ent"),
        },
        safe=("free",),
    ),
    "one that is only feared": Way(
        "import sys, static\n__import__('plug' + sys.argv[1][:0])",
        {
            **DISTRIBUTION,
            "src/plug.py": f"from importlib.metadata import entry_points\n{_LOAD}",
        },
        safe=("free",),
    ),
    "one among those that cannot be read": Way(
        f"import static\nfrom importlib.metadata import entry_points\n{_LOAD}",
        {
            **DISTRIBUTION,
            "src/odd-1.0.dist-info/METADATA": "Name: odd\nVersion: 1.0\n",
            "src/odd-1.0.dist-info/entry_points.txt": "",
        },
        safe=("free",),
    ),
    "all of a distribution": Way(
        "import static\nfrom importlib.metadata import distribution\n"
        "for p in distribution('dist').entry_points:\n    p.load()\n",
        DISTRIBUTION,
    ),
    "an entry point that is made": core(
        f"import sys\nfrom importlib.metadata import EntryPoint\nEntryPoint('x', {NEW}, 'g').load()"
    ),
}
OTHERS = {
    "a patch of a name": core(
        f"import sys\nfrom unittest.mock import patch\npatch({NEW} + '.x', 1).start()"
    ),
    "a patch of several": core(
        f"import sys, unittest.mock as m\nm.patch.multiple({NEW}, x=1).start()"
    ),
    "a parser": core(
        f"import sys, xml.sax\n"
        f"try:\n    xml.sax.make_parser([{NEW}])\nexcept AttributeError:\n    pass"
    ),
    "a resource": core(
        f"import sys\nfrom importlib import resources\nresources.files({NEW}[:3])", loads="oth"
    ),
    "data of a package": core(
        "import sys, pkgutil\npkgutil.get_data(sys.argv[1], '__init__.py')", loads="oth"
    ),
    "a configuration of logs": Way(
        "import core, static\n",
        {
            "src/core.py": "import logging.config as c, sys\n"
            "c.dictConfig({'version': 1, 'formatters': {'f': {'()': sys.argv[1] + '.F'}}})",
            "src/oth/b.py": "class F:\n    pass\n",
        },
    ),
    "a configuration that is changed": Way(
        "import core, static\n",
        {
            "src/core.py": "import logging.config as c, sys\n"
            "LOGS = {'version': 1, 'formatters': {'f': {'()': 'logging.Formatter'}}}\n"
            "LOGS['formatters']['f']['()'] = sys.argv[1] + '.F'\nc.dictConfig(LOGS)",
            "src/oth/b.py": "class F:\n    pass\n",
        },
    ),
    "a configuration that another module changes": Way(
        "import core, sys, static\n"
        "core.LOGS['formatters']['f']['()'] = sys.argv[1] + '.F'\ncore.go()",
        {
            "src/core.py": "import logging.config as c, sys\n"
            "LOGS = {'version': 1, 'formatters': {'f': {'()': 'logging.Formatter'}}}\n"
            "def go():\n    c.dictConfig(LOGS)",
            "src/oth/b.py": "class F:\n    pass\n",
        },
    ),
    "a pickle of another process": core(
        "import sys\nfrom multiprocessing.reduction import ForkingPickler\n"
        f"ForkingPickler.loads(f'c{{{NEW}}}\\nC\\n.'.encode())"
    ),
    "a pickle by another way": core(
        "import sys\nfrom multiprocessing.connection import _ForkingPickler as L\n"
        f"L.loads(f'c{{{NEW}}}\\nC\\n.'.encode())"
    ),
    "a pickle by the module of another": core(
        "import sys\nimport multiprocessing.reduction as r\n"
        f"r.pickle.loads(f'c{{{NEW}}}\\nC\\n.'.encode())"
    ),
    "a pickle by an object": core(
        f"import sys, pickle\nclass A:\n    p = pickle\nA().p.loads(f'c{{{NEW}}}\\nC\\n.'.encode())"
    ),
    "a module of another": core(f"import sys, inspect\ninspect.importlib.import_module({NEW})"),
    "a function in C": core(
        f"import sys, ctypes\nctypes.pythonapi.PyRun_SimpleString(f'import {{{NEW}}}'.encode())"
    ),
    "a function of the program in C": core(
        f"import sys, ctypes\nctypes.PyDLL(None).PyImport_ImportModule({NEW}.encode())"
    ),
    "a function in C by its name": core(
        "import sys, ctypes\n"
        f"getattr(ctypes.pythonapi, 'PyRun_SimpleString')(f'import {{{NEW}}}'.encode())"
    ),
    "a command of bytes": core(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable.encode(), b'-m', sys.argv[1].encode()])",
        unseen=True,
    ),
    "a command of bytes that is said": core(
        "import subprocess, sys\nsubprocess.run([sys.executable.encode(), b'-m', b'oth.b'])",
        unseen=True,
        safe=("free",),
    ),
    "a shell by the module of another": core(
        "import logging\nlogging.os.system(b'python -m oth.b')", unseen=True, safe=("free",)
    ),
}


def taken(compat: str, said: str, **rest: object) -> Way:
    """Make a program that takes a function from a module of its own."""
    files = {"src/compat.py": compat, "src/core.py": f"import sys\n{said}"}
    return Way("import core, static\n", files, **rest)  # type: ignore[arg-type]


_AS_LOAD = "from importlib import import_module as load"
TAKEN = {
    "by its name there": taken(_AS_LOAD, f"from compat import load\nload({NEW})"),
    "by its own name": taken(
        "from importlib import import_module",
        f"from compat import import_module\nimport_module({NEW})",
    ),
    "its own name, handed on": taken(
        "from importlib import import_module",
        f"from compat import import_module\nlist(map(import_module, [{NEW}]))",
    ),
    "by the module": taken(_AS_LOAD, f"import compat\ncompat.load({NEW})"),
    "by another name of the module": taken(_AS_LOAD, f"import compat as c\nc.load({NEW})"),
    "with all of it": taken(_AS_LOAD, f"from compat import *\nload({NEW})"),
    "under a third name": taken(
        _AS_LOAD,
        f"from compat import load as ld\nclass A:\n    f = staticmethod(ld)\nA.f({NEW})",
    ),
    "a module": taken(
        "import importlib as il", f"from compat import il as z\nz.import_module({NEW})"
    ),
    "a module by its name": taken(
        "import pickle", f"import compat\ncompat.pickle.loads(f'c{{{NEW}}}\\nC\\n.'.encode())"
    ),
    "a module by another name": taken(
        "import pickle as p", f"import compat\ncompat.p.loads(f'c{{{NEW}}}\\nC\\n.'.encode())"
    ),
    "a built-in": taken(
        "from builtins import exec as x, __import__ as y", f"from compat import y\ny({NEW})"
    ),
    "what runs a file": taken(
        "from runpy import run_path",
        "from compat import run_path\nrun_path('src/' + sys.argv[1].replace('.', '/') + '.py')",
        unseen=True,
    ),
    "what runs a file, under another name": taken(
        "from runpy import run_path as rp",
        "from compat import rp\nrp('src/' + sys.argv[1].replace('.', '/') + '.py')",
        unseen=True,
    ),
    "through two": Way(
        "import core, static\n",
        {
            "src/a.py": _AS_LOAD,
            "src/compat.py": "from a import load as bring",
            "src/core.py": f"import sys\nfrom compat import bring as b\nb({NEW})",
        },
    ),
    "through two, with all of them": Way(
        "import core, static\n",
        {
            "src/a.py": _AS_LOAD,
            "src/compat.py": "from a import *",
            "src/core.py": f"import sys, compat\ncompat.load({NEW})",
        },
    ),
    "from a package": Way(
        "import core, static\n",
        {
            "src/pack/__init__.py": "from .compat import load",
            "src/pack/compat.py": _AS_LOAD,
            "src/core.py": f"import sys\nfrom pack import load\nload({NEW})",
        },
    ),
    "entry points": Way(
        "import core, static\n",
        {
            **DISTRIBUTION,
            "src/compat.py": "from importlib.metadata import entry_points",
            "src/core.py": f"from compat import entry_points\n{_LOAD}",
        },
        safe=("free",),
    ),
    "by what is only feared": Way(
        "import sys, static\n__import__('plug' + sys.argv[1][:0])",
        {
            "src/compat.py": _AS_LOAD,
            "src/plug.py": f"import sys\nfrom compat import load\nload({NEW})",
        },
    ),
    "only what is not asked for": taken(
        _AS_LOAD + "\nDONE = 1", "from compat import DONE\n__import__('oth.b')", safe=("free",)
    ),
}


def loaded(folder: Path, way: Way) -> dict[str, str]:
    """Run a program; give the files that it loaded of its own folder, by module."""
    write(folder, AROUND | dict(way.files) | {"run.py": f"{way.run}\n{_TELL}"})
    ended = subprocess.run(
        [sys.executable, "-s", "run.py", way.loads],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, str] = json.loads(ended.stdout.rpartition("@@")[2])
    files = {name: folder / file for name, file in found.items() if name != "__main__"}
    return {name: str(file) for name, file in files.items() if file.is_relative_to(folder / "src")}


def standings(folder: Path, *names: str) -> dict[str, Standing]:
    """Ask about names of a program."""
    program = Program(entries=("run.py",), roots=("src",), folder=str(folder))
    return {one.name: one.standing for one in check(closure_of(program), names)}


def never_safe(folder: Path, way: Way) -> None:
    """Run a program, and ask about what it loaded, under every name that it has."""
    files = loaded(folder, way)
    if not way.unseen:
        assert way.loads in files
    names = {HIDDEN, "oth", "src.oth.b", "src.oth", "src/oth/b.py", "src/oth", *files}
    found = standings(folder, *sorted(names | set(files.values())), *way.safe)
    safe = {name for name, standing in found.items() if standing is Standing.SAFE}
    assert safe == set(way.safe)


@pytest.mark.parametrize("name", some(KNOWN, 2))
def test_what_a_known_beginning_leads_to_is_never_safe(name, tmp_path):
    """Whatever begins so is unknown, under each of its names, and what does not is safe."""
    never_safe(tmp_path, KNOWN[name])


@pytest.mark.parametrize("name", some(CHANGED, 4))
def test_what_a_changed_constant_leads_to_is_never_safe(name, tmp_path):
    """However a constant that an import is read from is changed, nothing is safe because of it."""
    never_safe(tmp_path, CHANGED[name])


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_only_looks_like_a_change_is_none(name, tmp_path):
    """A constant that nobody changes is believed, and the rest is safe."""
    loaded(tmp_path, UNCHANGED[name])
    found = standings(tmp_path, "static", HIDDEN, "oth", "src/oth/b.py", "free")
    assert found.pop("static") is Standing.FROZEN
    assert set(found.values()) == {Standing.SAFE}


@pytest.mark.parametrize("name", some(POINTS, 2))
def test_what_entry_points_of_its_own_folders_lead_to_is_never_safe(name, tmp_path):
    """Python looks for entry points wherever it looks for modules, and so does this."""
    never_safe(tmp_path, POINTS[name])


@pytest.mark.parametrize("name", some(OTHERS, 4))
def test_what_other_functions_of_python_load_is_never_safe(name, tmp_path):
    """What Python has that imports or executes is known, by whatever way it is called."""
    never_safe(tmp_path, OTHERS[name])


@pytest.mark.parametrize("name", some(TAKEN, 3))
def test_what_a_function_of_another_module_loads_is_never_safe(name, tmp_path):
    """Whatever name a module of its own has for a function that imports, it is one."""
    never_safe(tmp_path, TAKEN[name])
