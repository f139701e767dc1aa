# Every target makes its own virtual environment on first use; only python3 (3.11 or newer) and make are needed.

PYTHON ?= python3
ARGS ?=
# Half of a test's time is waiting: for Spark to start, for rows to come.
WORKERS ?= 3
# How long random plans are tried.
MINUTES ?= 5
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test pyspark-tests check fuzz bench coverage lock clean

demo: $(READY)
	$(BIN)/python -m headway.demo $(ARGS)

test: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

# PySpark's own streaming tests on Headway; SPARK is a checkout of apache/spark, of the version that is installed.
pyspark-tests: $(READY)
	cd $(SPARK) && PYTHONPATH=$(CURDIR)/tests PYSPARK_PYTHON=$(CURDIR)/$(BIN)/python $(CURDIR)/$(BIN)/pytest -p pyspark_shim \
		$(addprefix python/pyspark/sql/tests/streaming/test_streaming, .py _foreach.py _foreach_batch.py _listener.py) $(ARGS)

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fuzz: $(READY)
	PYTHONPATH=tests $(BIN)/python tests/random_plans/campaign.py --minutes $(MINUTES) $(ARGS)

bench: $(READY)
	$(BIN)/python -m bench $(ARGS)

coverage: $(READY)
	$(BIN)/python -m headway.coverage $(ARGS)

lock: $(READY)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade pyproject.toml --extra java --extra kafka --extra delta --group dev --universal --generate-hashes \
		--no-emit-index-url --no-annotate --custom-compile-command "make lock" --output-file requirements-dev.lock

clean:
	rm -rf .venv

$(READY): requirements-dev.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headway needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m headway.kernels
	touch $(READY)
