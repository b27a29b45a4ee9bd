# A thin front to meson: each target sets up what it needs, on Debian and Ubuntu from a bare clone.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
PYTHON := /usr/bin/python3
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

.PHONY: all setup demo check install bench format lint fuzz clean
.NOTPARALLEL:

all: setup $(BUILD)/build.ninja
	@ninja -C $(BUILD) > $(BUILD)/build.log || { cat $(BUILD)/build.log; exit 1; }

setup:
	@tools/setup build

$(BUILD)/build.ninja:
	@meson setup $(BUILD) >$(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }
	@mv $(BUILD).log $(BUILD)/configure.log

demo: all
	@tools/setup demo
	@TIDEMARK_BUILD=$(BUILD) tools/demo

check: all
	@tools/setup check
	@TIDEMARK_BUILD=$(BUILD) $(PYTHON) tools/check

install: all
	@[ "$$(cat $(BUILD)/prefix 2>&1)" = "$(PREFIX)" ] || { \
	    meson configure $(BUILD) -Dprefix="$(abspath $(PREFIX))" && \
	    ninja -C $(BUILD) && echo "$(PREFIX)" > $(BUILD)/prefix; } > $(BUILD)/configure.log
	@DESTDIR="$(DESTDIR)" meson install -C $(BUILD) > $(BUILD)/install.log || \
	    { cat $(BUILD)/install.log; exit 1; }

bench: all
	@tools/setup bench
	@TIDEMARK_BUILD=$(BUILD) $(PYTHON) bench/run; status=$$?; \
	    TIDEMARK_BUILD=$(BUILD) $(PYTHON) bench/record && exit $$status

format:
	@tools/setup lint
	@tools/lint --format

lint: all
	@tools/setup lint
	@TIDEMARK_BUILD=$(BUILD) tools/lint

fuzz:
	@tools/setup build fuzz
	@tools/fuzz $(FUZZ_SECONDS)

clean:
	@rm -rf $(BUILD) $(BUILD)-sanitize $(BUILD)-fuzz $(BUILD)-race build-package dist
