# make run    the shipped shapes.yaml, from nothing to a table of engine times
# make test   lint, types, tests; CHECKOUTS=dir adds the tests that read other projects (tests/checkouts.py)
# make bench gate  our speed beside its peers, as ratios
# make docs   the pages as a site in build/site, with pages for the commands and others made from the product; a dead link fails
# make paste  pastes the blocks of the quickstart and the tutorials from the built site, and compares what they print
# make sanitize  the compiled core under AddressSanitizer and UBSan, eight threads too
# make release-check  what a release consists of, built in OUT, installed into new environments of every Python, and run
# make gate   exit code 1 when this tree is slower than the build in bench/gate.base
# make mutants  200 random mistakes in the product, and which of them the tests notice (docs/mutants.md)
# make wild CHECKOUTS=dir  public kernels against their references: right, wrong, refused by name, crashed
# make correlation CHECKOUTS=dir  the model beside every public measured row (ROWS=development|studied|test|all|new)
# make ablation  what each pass and each fitted number is worth (CHECKOUTS=dir: evaluated anew)
# make fidelity  the model beside measurements on hardware (DATA=measurements, NKILIB= GEMM= checkouts)

PYTHON ?= python3
OUT ?= build/neffs
DATA ?= ../shared/data
BIN := .venv/bin
# The commands and tests start many Python processes; each would compile the package anew without cached bytecode.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: paste release-check sanitize run test lint types tests docs bench gate mutants fidelity correlation ablation wild clean

run: .venv/run
	$(BIN)/generate-neffs --shapes shapes.yaml --out $(OUT)
	$(BIN)/profile-neffs $(OUT)

test: lint types tests

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/test
	$(BIN)/mypy

# Neighbours stay together, which share what their fixtures make. -rs prints why each test was skipped.
tests: .venv/test
	$(BIN)/pytest -rs -n auto --dist worksteal

# The core is compiled anew, before and after: a sanitized one runs in no other Python.
SANITIZE := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
sanitize: .venv/test
	CFLAGS="$(SANITIZE)" LDFLAGS="$(SANITIZE)" $(BIN)/pip install --quiet --editable . --no-deps
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	    $(BIN)/pytest $(foreach room,compiler recording timing native,tests/simulator/$(room)) tests/test_soak_threads.py; status=$$?; \
	    $(BIN)/pip install --quiet --editable . --no-deps; exit $$status

bench: .venv/test
	@missed=0; for part in commands store readers recorder scheduler executor peers latency; do \
	    $(BIN)/python bench/$$part.py || missed=1; done; exit $$missed

docs: .venv/test
	$(BIN)/pip install --quiet --editable '.[docs]'
	$(BIN)/python -m tools.site build/pages
	$(BIN)/zensical build --clean --strict

paste: docs
	$(BIN)/python -m tools.paste $(foreach page,. tutorial tutorial-old-dialect,build/site/$(page)/index.html)

release-check: .venv/test
	$(BIN)/python -m tools.release_check --out $(if $(filter command line,$(origin OUT)),$(OUT),build/release)

gate: .venv/test
	$(BIN)/python bench/gate.py

mutants: .venv/test
	$(BIN)/python -m tools.mutate --record
	$(BIN)/python -m tools.mutate --random $(or $(N),200) --seed $(or $(SEED),1) --page docs/mutants.md

fidelity: .venv/test
	$(BIN)/python validation/fidelity.py --data $(DATA) $(if $(NKILIB),--nkilib $(NKILIB)) $(if $(GEMM),--gemm $(GEMM))

correlation: .venv/test
	$(BIN)/python -m validation.correlation $(CHECKOUTS) --rows $(or $(ROWS),all)

ablation: .venv/test
	$(BIN)/python -m validation.ablation $(CHECKOUTS)

wild: .venv/test
	$(BIN)/python -m validation.wild $(CHECKOUTS)

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run: .venv/bin/python pyproject.toml setup.py $(wildcard neff_bench/simulator/native/*.py neff_bench/simulator/native/*.[ch] neff_bench/simulator/native/*/*.[ch])
	$(BIN)/pip install --quiet --editable '.[xla]'
	touch $@

.venv/test: .venv/bin/python pyproject.toml setup.py $(wildcard neff_bench/simulator/native/*.py neff_bench/simulator/native/*.[ch] neff_bench/simulator/native/*/*.[ch])
	$(BIN)/pip install --quiet --no-compile --editable '.[dev]'
	touch $@ .venv/run

clean:
	rm -rf .venv build
