package sidecar

import (
	"io"
	"path"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CodeCode is the code of findings about code beside a model, and of files by which a tool
// installs or builds something. A policy gives it a severity of its own.
const CodeCode = "sidecar.code"

// codeEndings are the extensions of code, and what it is.
var codeEndings = map[string]string{
	".py": "Python", ".pyw": "Python", ".pyi": "Python", ".pyx": "Cython", ".ipynb": "a notebook", ".sh": "a script of the shell", ".bash": "a script of the shell",
	".zsh": "a script of the shell", ".bat": "a script", ".cmd": "a script", ".ps1": "a script", ".js": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript", ".lua": "Lua",
	".rb": "Ruby", ".pl": "Perl", ".r": "R", ".jl": "Julia", ".php": "PHP", ".c": "C", ".cc": "C++", ".cpp": "C++", ".cu": "CUDA", ".h": "C", ".hpp": "C++", ".go": "Go",
	".rs": "Rust", ".java": "Java", ".mk": "a makefile", ".cmake": "a makefile", ".service": "a service of systemd", ".desktop": "a starter", ".nix": "Nix",
}

// codeNames are files that a tool runs, or installs or builds something by.
var codeNames = map[string]string{
	"requirements.txt": "a list of packages to install", "python_env.yaml": "an environment that MLflow installs", "conda.yaml": "an environment that is installed",
	"conda.yml": "an environment that is installed", "environment.yml": "an environment that is installed", "environment.yaml": "an environment that is installed",
	"pyproject.toml": "a package to build", "setup.cfg": "a package to build", "pipfile": "a list of packages to install", "package.json": "a package of npm",
	"bentofile.yaml": "what BentoML builds", "bento.yaml": "what BentoML deploys", "cog.yaml": "what Cog builds", "makefile": "a makefile", "cmakelists.txt": "a makefile",
	"dockerfile": "what Docker builds", "docker-compose.yml": "what Docker starts", "docker-compose.yaml": "what Docker starts", "mlproject": "what MLflow runs",
	"apt.txt": "a list of packages to install", "packages.txt": "a list of packages to install", "tox.ini": "what tox runs", "noxfile.py": "what nox runs",
	"modelfile": "what ollama builds", "containerfile": "what Podman builds", "singularity": "what Apptainer builds", "compose.yml": "what Docker starts", "compose.yaml": "what Docker starts",
	"justfile": "a makefile", "taskfile.yml": "a makefile", "taskfile.yaml": "a makefile", "gnumakefile": "a makefile", "rakefile": "a makefile", "meson.build": "a makefile", "build.ninja": "a makefile",
	"build.bazel": "a makefile", "workspace": "a makefile", ".bazelrc": "options of Bazel", "flake.lock": "what Nix builds", "vagrantfile": "what Vagrant starts", "jenkinsfile": "what Jenkins runs",
	"procfile": "what a platform starts", "gemfile": "a list of packages to install", "pipfile.lock": "a list of packages to install", "poetry.lock": "a list of packages to install",
	"uv.lock": "a list of packages to install", "package-lock.json": "a list of packages to install", "yarn.lock": "a list of packages to install", "cargo.toml": "a package to build", "manifest.in": "a package to build",
	".gitlab-ci.yml": "what GitLab runs", ".travis.yml": "what Travis runs", ".pre-commit-config.yaml": "what pre-commit runs", "azure-pipelines.yml": "what Azure runs", "cloudbuild.yaml": "what Google builds",
	".envrc": "what direnv runs", ".env": "variables that programs take over", ".bashrc": "a script of the shell", ".bash_profile": "a script of the shell", ".bash_aliases": "a script of the shell", ".profile": "a script of the shell",
	".zshrc": "a script of the shell", ".zshenv": "a script of the shell", ".login": "a script of the shell", ".npmrc": "where npm takes packages from", ".yarnrc": "where yarn takes packages from", ".yarnrc.yml": "where yarn takes packages from",
	"pip.conf": "where pip takes packages from", "pip.ini": "where pip takes packages from", ".condarc": "where conda takes packages from", ".pypirc": "where packages are sent to", "uv.toml": "where uv takes packages from",
	"pytest.ini": "modules that pytest imports", "mypy.ini": "modules that mypy imports", ".pylintrc": "code that pylint runs", "pylintrc": "code that pylint runs", ".coveragerc": "modules that coverage imports",
	".vimrc": "what vim runs", ".exrc": "what vim runs", ".nvimrc": "what vim runs", ".gdbinit": "what gdb runs", ".lldbinit": "what lldb runs", ".tmux.conf": "what tmux runs", ".curlrc": "options of curl", ".wgetrc": "options of wget",
	".pdbrc": "what Python's debugger runs", ".rprofile": "what R runs", ".renviron": "variables that R takes over", ".octaverc": "what Octave runs", ".deepspeed_env": "variables that DeepSpeed's launcher takes over",
	"jupyter_notebook_config.json": "options of Jupyter", "jupyter_server_config.json": "options of Jupyter", "matplotlibrc": "options of matplotlib, which may name a module",
	"mise.toml": "what mise runs", ".mise.toml": "what mise runs", ".tool-versions": "what asdf installs", "devcontainer.json": "what an editor builds", ".devcontainer.json": "what an editor builds",
}

// codeFolders are folders of which a tool runs what lies in them, or installs something by it.
var codeFolders = map[string]string{
	".vscode": "what an editor runs", ".idea": "what an editor runs", ".claude": "hooks and commands that a coding tool runs", ".cursor": "commands that a coding tool runs", ".devcontainer": "what an editor builds", ".circleci": "what CircleCI runs",
	".husky": "what husky runs", ".cargo": "what Cargo runs", ".jupyter": "what Jupyter runs", ".ipython": "what IPython runs", "profile_default": "what IPython runs",
}

// runNames are files that a loader runs because of their name.
var runNames = map[string]string{
	"hubconf.py":        "torch.hub.load(folder, source='local') runs this file",
	"sitecustomize.py":  "Python runs this file as soon as its folder is on its path",
	"usercustomize.py":  "Python runs this file as soon as its folder is on its path",
	"conftest.py":       "pytest runs this file wherever it is started",
	"__main__.py":       "Python runs this file for its folder",
	"model_handler.py":  "TorchServe runs this file",
	"custom_service.py": "ModelArts and others run this file",
	"encoding_dsv4.py":  "xinference 4.1.0 runs this file, without being told to trust it",
}

// moduleTexts are texts of MLflow whose content is the name of a module, and nothing else: the modules
// that it writes, and what imports them.
var moduleTexts = map[string]struct {
	modules func() map[string]bool
	who     string
}{
	"keras_module.txt":       {setOf("keras tensorflow.keras tf_keras"), "mlflow.keras and mlflow.tensorflow import the module "},
	"pickle_module_info.txt": {setOf("mlflow.pytorch.pickle_module pickle cloudpickle dill"), "mlflow.pytorch imports, and unpickles the model with, the module "},
}

// shellMarks are what a shell takes for more than a word.
const shellMarks = ";|&`$\n"

// codeBeside judges a text by its name: code, and what a tool runs or installs.
func (r *reader) codeBeside() error {
	base := r.file
	ext := path.Ext(base)
	if judge := r.byGit(); judge != nil {
		return judge()
	}
	what := r.code(base, ext)
	folder := r.inFolder(1)
	if base == "modelfile" || strings.HasPrefix(base, "modelfile.") || ext == ".modelfile" {
		return r.modelfile()
	}
	who, err := r.runner(base, ext, folder)
	if err == nil && who != "" {
		err = r.report(codeHandler, tensor.Danger, "", 0, who)
	}
	if err != nil {
		return err
	}
	if module, is := moduleTexts[base]; is {
		return r.named(func(text string) bool { return module.modules()[text] }, module.who)
	}
	switch {
	case base == "latest":
		return r.named(func(text string) bool { return !leaves(text) }, "DeepSpeed loads the checkpoint from the folder ")
	case ext == ".dir" && r.t.Beside != nil && r.t.Beside(strings.TrimSuffix(r.t.Name[strings.LastIndexAny(r.t.Name, "/!")+1:], r.t.Name[len(r.t.Name)-4:])+".dat"):
		return r.report("sidecar.pickle", tensor.Danger, "", 0, "shelve unpickles what lies at the places of this list, in the file beside it")
	case what == "":
		return nil
	}
	if err := r.report(CodeCode, tensor.Warning, "", 0, "it is "+what+": whoever runs, installs or builds it trusts its author"); err != nil {
		return err
	}
	switch base {
	case "python_env.yaml", "conda.yaml", "conda.yml", "environment.yml", "environment.yaml", "bentofile.yaml", "bento.yaml", "packages.txt", "apt.txt":
		return r.installs()
	}
	if what == codeNames["requirements.txt"] && ext == ".txt" {
		return r.installs()
	}
	return nil
}

// runner says what runs a file for its name and its place, "" for nothing.
func (r *reader) runner(base, ext, folder string) (string, error) {
	shadowed, err := r.shadows()
	switch runs := runNames[base]; {
	case err != nil:
		return "", err
	case runs != "":
		return runs, nil
	case shadowed != "":
		return "Python imports this file in place of the module " + shadowed + ", where it is started in the folder", nil
	case base == "entry_points.txt" && isPackage(folder):
		return "Python takes this for the entry points of an installed package, where it is started beside the folder: PyTorch loads and calls what [torch.backends] names, as soon as it is imported", nil
	case base == "custom.py" || base == "custom_interface.py":
		return "foreign_class of speechbrain imports this file of a model's folder, by its default name", nil
	case ext == ".py" && r.isKernel():
		return "get_local_kernel and get_kernel of kernels import the package of a variant below build", nil
	case ext == ".pth":
		return "Python runs the lines of this text that begin with import, where its folder is one for packages", nil
	case folder == "code" && base != "inference.py" && (ext == ".py" || base == "requirements.txt"):
		return "containers of SageMaker run or install what lies in the folder code of a model", nil
	case ext == ".py" && folder != "" && strings.TrimSuffix(base, ".py") == folder:
		return "evaluate.load and datasets.load_dataset run the file of a folder that has its name", nil
	}
	return "", nil
}

// isKernel reports whether the file lies where kernels looks for the package of a kernel: build/VARIANT.
func (r *reader) isKernel() bool {
	for up := 2; r.inFolder(up) != ""; up++ {
		if r.inFolder(up) == "build" && (strings.HasPrefix(r.inFolder(up-1), "torch") || strings.HasPrefix(r.inFolder(up-1), "tvm")) {
			return true
		}
	}
	return false
}

// isPackage reports whether importlib.metadata takes a folder of this name for an installed package.
func isPackage(folder string) bool {
	return strings.HasSuffix(folder, ".dist-info") || strings.HasSuffix(folder, ".egg-info") || strings.HasSuffix(folder, ".egg")
}

// code returns what a text is that a tool runs, or installs or builds something by, "" if none does.
func (r *reader) code(base, ext string) string {
	what := codeNames[base]
	if what == "" {
		what = codeEndings[ext]
	}
	if what == "" && strings.HasPrefix(base, "dockerfile.") {
		what = codeNames["dockerfile"]
	}
	if what == "" && ext == ".txt" && (strings.HasPrefix(base, "requirements") || r.inFolder(1) == "requirements") {
		what = codeNames["requirements.txt"]
	}
	if what == "" {
		if what = codeFolders[r.inFolder(1)]; r.inFolder(1) == "workflows" && r.inFolder(2) == ".github" {
			what = "what GitHub runs"
		}
	}
	if p, err := r.in.Peek(2); what == "" && err == nil && string(p) == "#!" {
		what = "a script, as its first line says"
	}
	return what
}

// modelfile judges what ollama builds a model from: files by their paths.
func (r *reader) modelfile() error {
	if err := r.report(CodeCode, tensor.Warning, "", 0, "it is what ollama builds: whoever builds it trusts its author"); err != nil {
		return err
	}
	return r.eachLine(func(line string, at int64) error {
		line = strings.TrimSpace(line)
		word, path := line, ""
		if i := strings.IndexAny(line, " \t"); i >= 0 {
			word, path = line[:i], strings.Trim(line[i:], "\"' \t")
		}
		switch strings.ToLower(word) {
		case "from", "adapter":
			if leadsOut(path) {
				return r.report("sidecar.index-path", tensor.Danger, strings.ToUpper(word), at, "ollama reads a model from "+wire.Quote(path))
			}
			if isOwnedElsewhere(path) && (r.t.Beside == nil || !r.t.Beside(path)) {
				return r.report(codeHandler, tensor.Danger, strings.ToUpper(word), at, "ollama fetches the model "+wire.Quote(path))
			}
		}
		return nil
	})
}

// isOwnedElsewhere reports whether ollama takes a text for a model of somebody, or of a registry,
// and not for a file or one of its own library.
func isOwnedElsewhere(text string) bool {
	if strings.HasPrefix(text, "./") || strings.HasPrefix(text, `.\`) || !strings.Contains(text, "/") {
		return false
	}
	switch strings.ToLower(path.Ext(text)) {
	case ".gguf", ".safetensors", ".bin":
		return false
	}
	return !strings.HasSuffix(text, "/")
}

// maxSmall is longer than any of the files that are read whole.
const maxSmall = 256 << 10

// small calls visit with a text that must not be long.
func (r *reader) small(visit func(p []byte) error) error {
	if r.t.Size > maxSmall {
		return r.report(codeHandler, tensor.Danger, "", 0, "longer than any honest file of its name: it is not looked through")
	}
	p, err := limits.Make[byte](r.b, int(r.t.Size))
	if err != nil {
		return err
	}
	defer r.b.Drop(r.t.Size)
	if err := r.b.Step(1 + r.t.Size/stepLen); err != nil {
		return err
	}
	if _, err := io.ReadFull(r.in, p); err != nil {
		return wire.ErrTruncated.Errorf("the text ends after less than %d bytes", len(p))
	}
	return visit(p)
}

// named judges a text that is a name and nothing else.
func (r *reader) named(ok func(text string) bool, does string) error {
	return r.small(func(p []byte) error {
		if text := strings.TrimSpace(string(p)); !ok(text) {
			return r.report(codeHandler, tensor.Danger, "", 0, does+wire.Quote(text))
		}
		return nil
	})
}
