package vm

import "strings"

// A hazard is a module, or some of its names, that does more than hold data. An empty
// list of names means the whole module with its submodules.
type hazard struct {
	module, names, reason string
}

// Why something is dangerous.
const (
	runsCommands = "starts programs"
	runsCode     = "runs code"
	reachesAll   = "reaches any object by its name"
	loadsCode    = "loads modules or libraries"
	touchesFiles = "opens, writes or removes files"
	usesNetwork  = "opens network connections"
	nestsPickle  = "loads another pickle, without restriction"
	touchesMem   = "reads or writes memory"
	endsProcess  = "ends or stops the process"
)

// hazards are known dangerous names, from the advisories of picklescan, fickling,
// modelscan, modelaudit and PyTorch up to 2026, with the names that NumPy, pandas, SciPy,
// joblib and scikit-learn write for their functions that read and write files. They give
// refusals a reason, since names on no list are refused as well, and a policy that is
// learned holds none of them.
var hazards = [...]hazard{
	{"os", "", runsCommands},
	{"posix", "", runsCommands},
	{"nt", "", runsCommands},
	{"subprocess", "", runsCommands},
	{"_posixsubprocess", "", runsCommands},
	{"commands", "", runsCommands},
	{"popen2", "", runsCommands},
	{"pty", "", runsCommands},
	{"asyncio", "", runsCommands},
	{"multiprocessing", "", runsCommands},
	{"concurrent", "", runsCommands},
	{"platform", "popen", runsCommands},
	{"webbrowser", "", runsCommands},
	{"antigravity", "", runsCommands},
	{"distutils", "", runsCommands},
	{"setuptools", "", runsCommands},
	{"pip", "", runsCommands},
	{"ensurepip", "", runsCommands},
	{"venv", "", runsCommands},
	{"idlelib", "", runsCommands},
	{"_osx_support", "", runsCommands},
	{"_aix_support", "", runsCommands},
	{"_pyrepl", "", runsCommands},
	{"imaplib", "", runsCommands},
	{"uuid", "_get_command_stdout _popen", runsCommands},
	{"torch.utils.collect_env", "", runsCommands},
	{"torch.utils.bottleneck", "", runsCommands},
	{"torch.distributed.elastic", "", runsCommands},
	{"torch.distributed.launch", "", runsCommands},
	{"torch.distributed.launcher", "", runsCommands},
	{"torch.distributed.run", "", runsCommands},
	{"torch.distributed.rpc", "", runsCode},
	{"numpy.distutils", "", runsCommands},
	{"numpy.f2py", "", runsCode},
	{"numpy.testing", "", runsCode},
	{"builtins", "eval exec compile __build_class__ execfile", runsCode},
	{"builtins", "getattr setattr delattr hasattr vars globals locals dir type super classmethod property map filter", reachesAll},
	{"builtins", "__import__", loadsCode},
	{"builtins", "open", touchesFiles},
	{"builtins", "input breakpoint help", runsCode},
	{"builtins", "exit quit", endsProcess},
	{"sys", "", reachesAll},
	{"runpy", "", runsCode},
	{"code", "", runsCode},
	{"codeop", "", runsCode},
	{"timeit", "", runsCode},
	{"trace", "", runsCode},
	{"profile", "", runsCode},
	{"cProfile", "", runsCode},
	{"pdb", "", runsCode},
	{"bdb", "", runsCode},
	{"doctest", "", runsCode},
	{"unittest", "", runsCode},
	{"test", "", runsCode},
	{"lib2to3", "", runsCode},
	{"xmlrpc", "", runsCode},
	{"_interpreters", "", runsCode},
	{"_xxsubinterpreters", "", runsCode},
	{"interpreters", "", runsCode},
	{"types", "", runsCode},
	{"marshal", "", runsCode},
	{"torch._dynamo", "", runsCode},
	{"torch._inductor", "", runsCode},
	{"torch.fx", "", runsCode},
	{"torch.jit", "", runsCode},
	{"torch.package", "", runsCode},
	{"torch.utils._config_module", "", nestsPickle},
	{"torch.utils.data.datapipes", "", nestsPickle},
	{"sympy", "", runsCode},
	{"IPython", "", runsCode},
	{"jinja2", "", runsCode},
	{"mako", "", runsCode},
	{"pandas", "eval read_pickle DataFrame.query", runsCode},
	{"pandas", "ExcelFile ExcelWriter HDFStore read_clipboard read_csv read_excel read_feather read_fwf read_hdf read_html read_iceberg read_json read_orc read_parquet read_sas read_spss read_sql read_sql_query read_sql_table read_stata read_table read_xml to_pickle", touchesFiles},
	{"pandas.core.computation", "", runsCode},
	{"pandas.io", "", touchesFiles},
	{"operator", "", reachesAll},
	{"_operator", "", reachesAll},
	{"functools", "", reachesAll},
	{"_functools", "", reachesAll},
	{"inspect", "", reachesAll},
	{"gc", "", reachesAll},
	{"pydoc", "", reachesAll},
	{"pkgutil", "", reachesAll},
	{"copyreg", "", reachesAll},
	{"weakref", "", reachesAll},
	{"torch._utils", "_import_dotted_name", reachesAll},
	{"importlib", "", loadsCode},
	{"imp", "", loadsCode},
	{"_imp", "", loadsCode},
	{"zipimport", "", loadsCode},
	{"site", "", loadsCode},
	{"ctypes", "", loadsCode},
	{"_ctypes", "", loadsCode},
	{"cffi", "", loadsCode},
	{"torch.hub", "", loadsCode},
	{"torch.ops", "", loadsCode},
	{"torch.classes", "", loadsCode},
	{"torch.utils.cpp_extension", "", loadsCode},
	{"numpy.ctypeslib", "", loadsCode},
	{"shutil", "", touchesFiles},
	{"io", "", touchesFiles},
	{"_io", "", touchesFiles},
	{"tempfile", "", touchesFiles},
	{"fileinput", "", touchesFiles},
	{"linecache", "", touchesFiles},
	{"logging", "", touchesFiles},
	{"zipfile", "", touchesFiles},
	{"tarfile", "", touchesFiles},
	{"gzip", "", touchesFiles},
	{"bz2", "", touchesFiles},
	{"lzma", "", touchesFiles},
	{"sqlite3", "", touchesFiles},
	{"dbm", "", touchesFiles},
	{"mmap", "", touchesFiles},
	{"difflib", "", touchesFiles},
	{"glob", "", touchesFiles},
	{"numpy", "load save savez savetxt loadtxt genfromtxt fromfile memmap tofile DataSource", touchesFiles},
	{"numpy.core.memmap", "", touchesFiles},
	{"numpy._core.memmap", "", touchesFiles},
	{"numpy.core.multiarray", "fromfile", touchesFiles},
	{"numpy._core.multiarray", "fromfile", touchesFiles},
	{"numpy.core._multiarray_umath", "fromfile", touchesFiles},
	{"numpy._core._multiarray_umath", "fromfile", touchesFiles},
	{"numpy.core.records", "fromfile", touchesFiles},
	{"numpy._core.records", "fromfile", touchesFiles},
	{"numpy.rec", "fromfile", touchesFiles},
	{"numpy.lib._datasource", "", touchesFiles},
	{"socket", "", usesNetwork},
	{"_socket", "", usesNetwork},
	{"socketserver", "", usesNetwork},
	{"ssl", "", usesNetwork},
	{"urllib", "", usesNetwork},
	{"http", "", usesNetwork},
	{"ftplib", "", usesNetwork},
	{"smtplib", "", usesNetwork},
	{"poplib", "", usesNetwork},
	{"nntplib", "", usesNetwork},
	{"telnetlib", "", usesNetwork},
	{"requests", "", usesNetwork},
	{"aiohttp", "", usesNetwork},
	{"httpx", "", usesNetwork},
	{"paramiko", "", usesNetwork},
	{"pickle", "", nestsPickle},
	{"_pickle", "", nestsPickle},
	{"shelve", "", nestsPickle},
	{"dill", "", nestsPickle},
	{"cloudpickle", "", nestsPickle},
	{"joblib", "load dump wrap_non_picklable_objects Memory Parallel", nestsPickle},
	{"joblib.memory", "", nestsPickle},
	{"joblib.externals", "", nestsPickle},
	{"joblib.numpy_pickle", "load dump load_temporary_memmap NumpyUnpickler NumpyPickler _unpickle", nestsPickle},
	{joblibInside, "load dump load_temporary_memmap NumpyUnpickler NumpyPickler _unpickle", nestsPickle},
	{"joblib.numpy_pickle_compat", "load_compatibility read_zfile write_zfile ZipNumpyUnpickler", nestsPickle},
	{"yaml", "", nestsPickle},
	{"torch", "load", nestsPickle},
	{"torch.serialization", "load _load _legacy_load", nestsPickle},
	{"torch.storage", "_load_from_bytes", nestsPickle},
	{"torch.multiprocessing", "", nestsPickle},
	{"numpy.lib.npyio", "", nestsPickle},
	{"numpy.lib._npyio_impl", "", nestsPickle},
	{"numpy.lib.format", "", nestsPickle},
	{"numpy.lib._format_impl", "", nestsPickle},
	{"scipy.io", "", touchesFiles},
	{"scipy.sparse", "load_npz save_npz", touchesFiles},
	{"scipy.sparse._matrix_io", "", touchesFiles},
	{"sklearn.datasets", "", usesNetwork},
	{"joblib.numpy_pickle", "NDArrayWrapper ZNDArrayWrapper", touchesFiles}, // of joblib before 0.10: arrays in files beside this one
	{"joblib.numpy_pickle_compat", "NDArrayWrapper ZNDArrayWrapper", touchesFiles},
	{"sklearn.externals.joblib.numpy_pickle", "NDArrayWrapper ZNDArrayWrapper", touchesFiles},
	{"sklearn.utils._testing", "", touchesFiles},
	{"_ctypes_test", "", touchesMem},
	{"torch", "from_file", touchesFiles},
	{"torch.cuda.memory", "", touchesMem},
	{"signal", "", endsProcess},
	{"threading", "", runsCode},
	{"_thread", "", runsCode},
	{"sched", "", runsCode},
	{"atexit", "", runsCode},
	{"codecs", "", touchesFiles},
	{"nturl2path", "", touchesFiles},
}

// danger returns why a global is dangerous, or "".
func danger(module, name string) string {
	switch {
	case module == computedModule && name == computedName:
		return "its name is computed while the pickle runs"
	case module == "copyreg" && strings.HasPrefix(name, extensionName):
		return "what a number stands for, only the reader's registry knows"
	case strings.Contains(name, "."):
		return "a dotted name reaches through the attributes of what it names"
	case strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__") && !strings.HasPrefix(module, "builtins"):
		return "reaches into the interpreter"
	}
	if name == "Bunch" && within(module, "sklearn.datasets") {
		return "" // data, where scikit-learn had it before 0.22
	}
	for i := range hazards {
		h := &hazards[i]
		if h.names == "" && within(module, h.module) || h.module == module && hasName(h.names, name) {
			return h.reason
		}
	}
	return ""
}

// within reports whether module is root or one of its submodules.
func within(module, root string) bool {
	return module == root || len(module) > len(root) && module[len(root)] == '.' && module[:len(root)] == root
}
