"""The functions that import, load or run other code, and what changes where modules are found."""

from __future__ import annotations

BY_NAME = frozenset(
    {
        "importlib.import_module",
        "importlib.util.find_spec",
        "importlib.util.resolve_name",
        "pkgutil.resolve_name",
        "runpy.run_module",
        "pkgutil.find_loader",
        "pkgutil.get_loader",
    }
)
# They only look; that there is nothing is an answer.
LOOKING = frozenset({"importlib.util.find_spec", "pkgutil.find_loader", "pkgutil.get_loader"})
RUNNING = frozenset({"runpy.run_module"})
BUILT_IN_IMPORT = frozenset({"__import__", "builtins.__import__", "importlib.__import__"})
ENTRY_POINTS = frozenset(
    {
        "importlib.metadata.entry_points",
        "importlib_metadata.entry_points",
        "pkg_resources.iter_entry_points",
    }
)
# Whatever they belong to, they load the entry points of a group.
LOAD_POINTS = frozenset({"iter_entry_points", "load_setuptools_entrypoints"})
# They import what an argument names: its place, its name, and whether it is a list of names.
GIVEN = {
    "importlib.metadata.EntryPoint": (1, "value", False),
    "multiprocessing.set_forkserver_preload": (0, "module_names", True),
    "pkgutil.get_data": (0, "package", False),
    "xml.sax.make_parser": (0, "parser_list", True),
    **{
        f"importlib.resources.{name}": (0, "package", False)
        for name in (
            *("contents", "files", "is_resource", "open_binary", "open_text"),
            *("path", "read_binary", "read_text"),
        )
    },
    **{
        f"{owner}patch{method}": (0, "target", False)
        for owner in ("unittest.mock.", "mock.")
        for method in ("", ".multiple")
    },
}
UNSAID = {
    "exec": "code made at run time is executed",
    "eval": "code made at run time is evaluated",
    "builtins.exec": "code made at run time is executed",
    "builtins.eval": "code made at run time is evaluated",
    "runpy.run_path": "a file is run by its path",
    "importlib.util.spec_from_file_location": "a file is loaded by its path",
    "importlib.util.module_from_spec": "a module is made from a specification",
    "importlib.machinery.SourceFileLoader": "a file is loaded by its path",
    "importlib.machinery.SourcelessFileLoader": "a file is loaded by its path",
    "importlib.machinery.ExtensionFileLoader": "a file is loaded by its path",
    "pkgutil.walk_packages": "packages are imported to be listed",
    "pickle.load": "a pickle names the modules that it needs",
    "pickle.loads": "a pickle names the modules that it needs",
    "pickle.Unpickler": "a pickle names the modules that it needs",
    "dill.load": "a pickle names the modules that it needs",
    "dill.loads": "a pickle names the modules that it needs",
    "cloudpickle.load": "a pickle names the modules that it needs",
    "cloudpickle.loads": "a pickle names the modules that it needs",
    "shelve.open": "a shelf names the modules that it needs",
    "imp.load_module": "a file is loaded by its path",
    "imp.load_source": "a file is loaded by its path",
    "zipimport.zipimporter": "modules are loaded from an archive",
    "pandas.read_pickle": "a pickle names the modules that it needs",
    "joblib.load": "a pickle names the modules that it needs",
    "jsonpickle.decode": "a document names the modules that it needs",
    "yaml.unsafe_load": "a document names the modules that it needs",
    "marshal.load": "code that was compiled elsewhere is loaded",
    "marshal.loads": "code that was compiled elsewhere is loaded",
    "pydoc.locate": "a module is imported by a name that is computed",
    "pydoc.safeimport": "a module is imported by a name that is computed",
    "logging.config.fileConfig": "a file names the modules that are imported",
    "lazy_loader.attach_stub": "a stub names the modules that are imported",
    "unittest.main": "tests are looked for and imported",
    "unittest.TestLoader": "tests are looked for and imported",
    "unittest.defaultTestLoader": "tests are looked for and imported",
    "pytest.main": "tests are looked for and imported",
    "django.setup": "settings name the modules that are imported",
    "django.core.management.execute_from_command_line": "settings name what is imported",
    "IPython.embed": "code made at run time is executed",
    "IPython.start_ipython": "code made at run time is executed",
    "multiprocessing.connection.Client": "a pickle names the modules that it needs",
    "multiprocessing.connection.Listener": "a pickle names the modules that it needs",
    "multiprocessing.connection._ForkingPickler": "a pickle names the modules that it needs",
    "multiprocessing.managers.BaseManager": "a pickle names the modules that it needs",
    "multiprocessing.reduction.ForkingPickler": "a pickle names the modules that it needs",
    "pkg_resources.load_entry_point": "an entry point is loaded by its name",
    "pkg_resources.get_entry_map": "all entry points of a distribution are looked up",
    "unittest.TestProgram": "tests are looked for and imported",
    "site.addpackage": "a folder is added to where modules are found",
    "site.addsitedir": "a folder is added to where modules are found",
}
# They are given code as a string, or find it in strings, and execute it.
_EXECUTING = {
    "bdb": ("Bdb", "Tdb"),
    "cProfile": ("Profile", "run", "runctx"),
    "code": ("InteractiveConsole", "InteractiveInterpreter", "interact"),
    "doctest": (
        *("DebugRunner", "DocFileSuite", "DocTestRunner", "DocTestSuite"),
        *("debug", "debug_script", "debug_src", "run_docstring_examples", "testfile", "testmod"),
    ),
    "pdb": ("Pdb", "run", "runctx", "runeval"),
    "profile": ("Profile", "run", "runctx"),
    "timeit": ("Timer", "main", "repeat", "timeit"),
    "trace": ("Trace", "main"),
}
_EXECUTE = frozenset(f"{module}.{name}" for module, names in _EXECUTING.items() for name in names)
UNSAID |= dict.fromkeys(_EXECUTE, "code made at run time is executed")
# Whatever a function of this name belongs to, it imports.
IMPORTERS = frozenset({"import_module", "import_string", "import_object", "import_from_string"})
LOADERS = frozenset({"exec_module", "load_module"})
PATHS = frozenset({"sys.path", "sys.meta_path", "sys.path_hooks"})
MUTATORS = frozenset(
    {"append", "insert", "extend", "remove", "pop", "clear", "sort", "reverse"}
    | {"__iadd__", "__setitem__", "__delitem__"}
)
READERS = frozenset(
    {"list", "tuple", "set", "sorted", "len", "enumerate", "iter", "print", "repr", "str"}
)
HANDED_ON = frozenset(
    {"importlib", "importlib.util", "importlib.machinery", "runpy", "builtins", "pickle", "dill"}
    | {"cloudpickle", "shelve", "marshal", "imp", "zipimport", "pydoc", "joblib", "jsonpickle"}
)
KNOWN = BY_NAME | BUILT_IN_IMPORT | ENTRY_POINTS | GIVEN.keys() | UNSAID.keys()
# By these two words somebody means them, whatever module or object they are taken from. What is
# executed for a trace or a profile is called like much else.
WITHIN = frozenset(name for name in (KNOWN - _EXECUTE) | PATHS if "." in name)
# How the functions of Python that import or execute are called in C.
IN_C = ("PyEval_", "PyImport_", "PyRun_")
