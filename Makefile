# make demo | test | check | soak: each makes .venv by itself, with uv where present and venv + pip otherwise.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check soak format bench clean

# The stamp is written last, so that an interrupted installation is begun again.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "Python 3.11 or newer is needed: install it, or name one with make PYTHON=/path/to/python3.11"; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
		uv venv -q --allow-existing --python "$$(command -v $(PYTHON))" $(VENV) && uv pip install -q --python $(BIN)/python -e '.[test]'; \
	else \
		$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is needed: install it (Debian: apt-get install python3-venv)"; exit 1; }; \
		$(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[test]'; \
	fi
	@touch $@

test: $(STAMP)
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_imports.py

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
