# make demo   learn limits from the bundled clip, check and clamp another with them
# make test   format, lint, types and tests
# make test-opensim  knee and scapula against OpenSim, in an environment of its own
# make bench  speed, as ratios in one run, and what the sources measured

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
OPENSIM := .venv-opensim

.PHONY: demo test test-opensim bench clean

demo: $(INSTALLED)
	$(BIN)/synovia demo synovia-demo

test: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto

test-opensim: $(OPENSIM)/.installed
	$(OPENSIM)/bin/pytest --noconftest -o pythonpath=tests/opensim tests/opensim

bench: $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python benchmarks/rotations.py
	$(BIN)/python benchmarks/cones.py
	$(BIN)/python benchmarks/fields.py
	$(BIN)/python benchmarks/components.py
	$(BIN)/python benchmarks/fitting.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/synovia bench -o synovia-bench

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Synovia needs Python 3.11 or newer; run make PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(OPENSIM)/.installed: pyproject.toml
	test -x $(OPENSIM)/bin/python || $(PYTHON) -m venv $(OPENSIM)
	$(OPENSIM)/bin/pip install --quiet --disable-pip-version-check --editable '.[opensim]'
	touch $@

clean:
	rm -rf $(VENV) $(OPENSIM) build dist synovia-demo synovia-bench
