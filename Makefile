# make demo | test | check | soak | bench: each makes .venv by itself, with uv where present and venv + pip otherwise.
# PYTHON=... names the Python to use; otherwise it is the quickest build of what python3 is (.ci/quickest.py says why).
PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# What a peer needs, without Spark and the test tools: enough for the demo, in a tenth of the room.
RUNTIME := $(VENV)/.runtime
# Tests and demo start some hundred processes: each would compile all modules anew where nothing compiled may be kept.
unexport PYTHONDONTWRITEBYTECODE
# Arguments for demo, soak and the matcher's benchmark, such as make demo ARGS=--keep.
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check screenshots reports soak format bench clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

# Makes $(VENV), unless one is there that works, and installs $(1) into it with the options $(2) of pip. Stamps are written last, so
# that an interrupted installation is begun again. Python's own pip fills the environment where it can, since to install another
# one first takes longer than half of the rest.
define install
	@python="$(or $(PYTHON),python3)"; has() { "$$1" -c "$$2" >/dev/null 2>&1; }; \
	pip='import pip, sys; sys.exit(int(pip.__version__.split(".")[0]) < 23)'; \
	command -v "$$python" >/dev/null 2>&1 && has "$$python" 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed: install it, or name one with make PYTHON=/path/to/python3.11"; exit 1; }; \
	if [ -n "$(PYTHON)" ] || ! has $(BIN)/python 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
		if [ -z "$(PYTHON)" ]; then python="$$("$$python" .ci/quickest.py)"; echo "$(VENV) is made with $$python"; fi; \
		if command -v uv >/dev/null 2>&1; then uv venv -q --allow-existing --python "$$(command -v "$$python")" $(VENV); \
		elif has "$$python" "import venv; $$pip"; then "$$python" -m venv --without-pip $(VENV); \
		elif has "$$python" 'import venv, ensurepip'; then "$$python" -m venv $(VENV); \
		else echo "Python's venv module is needed: install it (Debian and Ubuntu: apt-get install python3-venv)"; false; \
		fi || exit 1; \
	fi; \
	if command -v uv >/dev/null 2>&1; then uv pip install -q --python $(BIN)/python -e '$(1)'; \
	elif has $(BIN)/python 'import pip'; then $(BIN)/python -m pip install -q --disable-pip-version-check $(2) -e '$(1)'; \
	elif has "$$python" "$$pip"; then \
		"$$python" -m pip --python $(BIN)/python install -q --disable-pip-version-check $(2) pip -e '$(1)'; \
	else $(BIN)/python -m ensurepip && $(BIN)/python -m pip install -q --disable-pip-version-check $(2) -e '$(1)'; \
	fi
endef

# Modules are compiled as they are first imported: the demo needs a part of them.
$(RUNTIME): pyproject.toml
	$(call install,.,--no-compile)
	@touch $@

$(STAMP): pyproject.toml
	$(call install,.[test])
	@touch $(RUNTIME) $@

demo: $(RUNTIME) ## eight peers on this machine, from nothing to rows (ARGS=--keep leaves them running)
	$(BIN)/python examples/demo.py $(ARGS)

test: $(STAMP) ## the test suite on all cores, minutes
	$(BIN)/python -m pytest -n auto

check: $(STAMP) ## format, lint, types, import arrows
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_imports.py

screenshots: $(STAMP) ## the pictures of docs/page.md, in Chromium
	GSG_SCREENSHOTS=docs/page $(BIN)/python -m pytest -n 2 tests/gsg/http/page/test_page_screenshots.py

# Each report is one command, which the page says too; SHARED has the data that is not ours to publish. Files are named from where
# they are: a page tells no paths of a machine.
SHARED ?= $(or $(GSG_SHARED),../shared)
REPORT = $(CURDIR)/$(BIN)/gsg simulate
reports: $(STAMP) ## the reports and the tables of docs/simulation.md (ten minutes)
	$(REPORT) load-balance --engine numpy --peers 100000 --tuples 2000000 --subscriptions 200000 --seeds 5 --out build/synthetic
	cd $(SHARED)/data && $(REPORT) load-balance --engine numpy --peers 100000 --subscriptions 20000 --seeds 5 --events films-2008-2014.nt.gz --out $(CURDIR)/build/films
	cd $(SHARED)/data && $(REPORT) load-balance --engine numpy --peers 100000 --subscriptions 20000 --seeds 5 --events codex-m-train.tsv.gz --out $(CURDIR)/build/codex
	$(REPORT) churn --engine numpy --peers 1000 --strategy predicate --strategy rarest --strategy hot-split-10 --runs 100 --out build/churn
	$(REPORT) churn --engine numpy --lifetimes exponential,weibull,pareto --out build/lifetimes
	$(REPORT) routing --engine numpy --peers 100000 --k 2,4,8,16,20 --out build/routing
	$(REPORT) sweep --engine numpy --strategy rarest --strategy composite --strategy hot-split-10 --seeds 20 --out build/seeds
	$(REPORT) sweep --engine numpy --mix '??b=1' --mix '??a=1' --values scattered --values by-rank --peers 100,1000,10000,100000 --strategy rarest --strategy ordered-60 --strategy ordered-1024 --strategy maan --strategy hot-split-10+ordered-60 --seeds 1 --out build/bounds
	for name in synthetic films codex churn lifetimes routing; do cp build/$$name/report.html docs/simulation/$$name.html; done

soak: $(STAMP) ## random queries and histories, like queries together and alone, 10,000 runs of peers in trouble and some of real ones, random lines at the Pedro door, all film data (hours, or less: ARGS="--seconds 600")
	$(BIN)/python tests/conformance/conformance_soak.py $(ARGS)
	$(BIN)/python tests/harness/harness_soak.py $(ARGS)
	$(BIN)/python tests/harness/real_trial.py
	$(BIN)/python tests/harness/client_trial.py
	$(BIN)/python tests/harness/topic_trial.py
	$(BIN)/python tests/harness/topic_trial.py --peers 64 --killed 0.9
	$(BIN)/python tests/pedro_compat/pedro_soak.py
	$(BIN)/python tests/gsg/like_queries_soak.py $(ARGS)
	$(BIN)/python -m pytest --hypothesis-profile=soak tests/rete/test_equivalence.py tests/rete/test_algebra_equivalence.py \
		tests/rete/explain/test_derivation.py tests/rete/explain/test_refusal.py tests/rete/compile/test_parameters.py tests/rete/compile/test_arguments_of_tests.py \
		tests/gsg/languages/parse_cache/test_skeletons.py tests/gsg/languages/script/test_script_queries.py \
		tests/gsg/channels/temporal/test_temporal_equivalence.py
	$(BIN)/python -m benchmarks.films --peers 8
	$(BIN)/python tests/simulations/simulations_soak.py --every 4
	$(BIN)/python tests/simulations/streams/streams_soak.py
	$(BIN)/python tests/simulations/streams/streams_soak.py --remote --kills 5
	$(BIN)/python -m benchmarks.prediction --every 4

bench: $(STAMP) ## the matcher beside CLIPS, py_rete and pyoxigraph, all film data through eight peers, Pedro's door (minutes)
	@if command -v uv >/dev/null 2>&1; then uv pip install -q --python $(BIN)/python -e '.[bench]'; \
	else $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]'; fi
	$(BIN)/python -m benchmarks.rete $(ARGS)
	$(BIN)/python -m benchmarks.films --peers 8
	$(BIN)/python -m benchmarks.pedro

format: $(STAMP) ## rewrite the code in the house's layout
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove what was installed and cached
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
