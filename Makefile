# SPDX-License-Identifier: GPL-2.0-or-later
# make            everything below build/        make demo     the main job on a real trace
# make quick      most tests in half a minute   make bench    speed
# make check      all tests that need no Xen    T=NAME  one case of quick, check or check-xen
# make check-deb  builds the Debian packages, installs and removes them
# make check-xen  boots Xen in QEMU              make install  PREFIX= DESTDIR=
# make fuzz       hostile inputs, FUZZ_SECONDS=  make clean
# make torture    fuzz targets, faults at every point, kill -9: TORTURE_SECONDS=
# Variables: CC, SAN=1 (ASan and UBSan), V=1, O=DIR, WITHOUT_XENCTRL=1, WITHOUT_NCURSES=1

CC ?= gcc
O ?= build
PREFIX ?= /usr/local
PKG_CONFIG ?= pkg-config
Q = $(if $(V),,@)
say = $(if $(V),@:,@printf '  %-5s %s\n' $(1) $(2))

ifeq ($(origin CC),default)
CC = gcc
endif

CFLAGS ?= -O2 -g
XF_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -I$(O) -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wundef -fno-common
ifdef SAN
XF_CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif

have = $(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo y)
unpackers = libzstd liblzma zlib
needed = sqlite3 libelf $(unpackers)
missing := $(strip $(foreach p,$(needed),$(if $(call have,$(p)),,$(p))))
LIBS = $(shell $(PKG_CONFIG) --libs $(needed) 2>/dev/null) -lm -lpthread
XF_CFLAGS += $(shell $(PKG_CONFIG) --cflags $(needed) ncursesw 2>/dev/null)
TUI_LIBS = $(shell $(PKG_CONFIG) --libs ncursesw 2>/dev/null)
ifndef WITHOUT_NCURSES
ifeq ($(call have,ncursesw),y)
CURSES = y
endif
endif
ifneq ($(CURSES),y)
XF_CFLAGS += -DXF_WITHOUT_CURSES
TUI_LIBS =
endif
ifndef WITHOUT_XENCTRL
xen_needed = xencontrol >= 4.17 xenevtchn xenforeignmemory
ifeq ($(call have,'$(xen_needed)'),y)
XENCTRL = y
XEN_LIBS = -lxenctrl -lxenevtchn -lxenforeignmemory
XEN_CPPFLAGS = -DXF_XEN_TOOLS='"$(shell $(PKG_CONFIG) --modversion xencontrol)"'
drain = $(O)/xenfault-drain
standin = $(O)/tests/standin.so
endif
endif

examples = $(patsubst %.c,$(O)/%,$(wildcard examples/*.c))

lib_dirs = common schemas collector/trace collector/store collector/guest collector/drain analyzer analyzer/cost analyzer/diff analyzer/verify
lib_src = $(filter-out collector/drain/drain.c,$(wildcard $(addsuffix /*.c,$(lib_dirs))))
cli_src = $(wildcard cli/*.c tui/*.c)
lib_obj = $(lib_src:%.c=$(O)/%.o) $(O)/schema_sql.o $(O)/profiles.o
cli_obj = $(cli_src:%.c=$(O)/%.o)
profiles = $(wildcard examples/profiles/*)
sql = schemas/facts.sql schemas/derived.sql schemas/views.sql schemas/fleet.sql schemas/postgresql.sql

.PHONY: all deps demo check check-xen bench install clean
# a sanitizer's library cannot come in by dlopen()
extension = $(if $(SAN),,$(O)/xenfault.so)
man_pages = $(if $(SAN),,$(O)/man/xenfault.1 $(O)/completions/xenfault)
all: packages $(O)/xenfault $(extension) $(drain) $(examples) $(man_pages)

.PHONY: packages
packages:
ifneq ($(missing),)
	@echo "missing: $(missing). On Debian: sh tests/setup.sh" >&2; exit 1
endif
ifneq ($(CURSES),y)
	@echo "note: built without ncursesw (package libncurses-dev): xenfault tui runs scripts only"
endif
ifneq ($(XENCTRL),y)
	@echo "note: built without libxenctrl (package libxen-dev): no xenfault-drain"
endif

$(O)/xenfault: $(cli_obj) $(O)/libxenfault.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(TUI_LIBS)

$(O)/xenfault-drain: $(O)/collector/drain/drain.o $(O)/libxenfault.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(XEN_LIBS)

# Xen's headers are written in GNU C
$(O)/collector/drain/drain.o: XF_CFLAGS += -std=gnu11 $(XEN_CPPFLAGS)

# stands in for Xen's libraries in the tests of xenfault-drain
$(O)/tests/standin.so: tests/standin/xenctrl.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -Werror -Wshadow -O2 -g -shared -fPIC -pthread -o $@ $< -ldl

$(O)/cli/cmd_version.o: XF_CFLAGS += -DXF_NCURSES='"$(shell $(PKG_CONFIG) --modversion ncursesw)"'

# what xentrace(path) needs, once more for a shared object
ext_src = $(wildcard common/*.c schemas/*.c) $(wildcard collector/trace/*.c) \
	$(addprefix collector/,store/vtab.c store/functions.c drain/ring.c)
ext_obj = $(ext_src:%.c=$(O)/pic/%.o) $(O)/pic/extension/extension.o

$(O)/pic/%.o: %.c | packages
	@mkdir -p $(@D)
	$(call say,PIC,$<)
	$(Q)$(CC) $(XF_CFLAGS) $(CFLAGS) $(CPPFLAGS) -fPIC -fvisibility=hidden -ffunction-sections \
		-include extension/extension.h -MMD -MP -c -o $@ $<

$(O)/xenfault.so: $(ext_obj)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,--gc-sections -Wl,-z,defs -o $@ $^ \
		$(shell $(PKG_CONFIG) --libs $(unpackers) 2>/dev/null) -lm -lpthread

$(O)/man/xenfault.1: $(O)/xenfault $(wildcard man/*) common/version.h schemas/event.h docs/database.md
	$(call say,MAN,$(@D))
	$(Q)sh man/build.sh $(abspath $(O)/xenfault $(@D))

$(O)/completions/xenfault: $(O)/xenfault $(wildcard completions/*)
	$(call say,GEN,$(@D))
	$(Q)sh completions/build.sh $(abspath $(O)/xenfault $(@D))

# static where the C library can be: they run in any guest
$(O)/examples/%: examples/%.c examples/argument.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=c11 -Wall -Wextra -Werror -O2 -pthread -static -o $@ $< 2>/dev/null || \
		$(CC) -std=c11 -Wall -Wextra -Werror -O2 -pthread -o $@ $<

$(O)/libxenfault.a: $(lib_obj)
	$(call say,AR,$@)
	$(Q)rm -f $@; ar rcs $@ $^

$(O)/schema_sql.c: schemas/embed.sh schemas/db.h $(sql)
	@mkdir -p $(@D)
	$(Q)sh schemas/embed.sh $(sql) >$@

$(O)/profiles.c: schemas/embed-profiles.sh $(profiles)
	@mkdir -p $(@D)
	$(Q)sh schemas/embed-profiles.sh $(profiles) >$@

$(O)/%.o: %.c | packages
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(XF_CFLAGS) $(CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

$(O)/schema_sql.o $(O)/profiles.o: $(O)/%.o: $(O)/%.c
	$(Q)$(CC) $(XF_CFLAGS) $(CFLAGS) -c -o $@ $<

-include $(ext_obj:.o=.d) $(lib_obj:.o=.d) $(cli_obj:.o=.d) $(O)/collector/drain/drain.d

deps:
	@sh tests/setup.sh $(if $(filter quick check fuzz torture,$(MAKECMDGOALS)),python3 clang libclang-rt-dev clang-format tmux libxen-dev man-db mandoc bash-completion zsh,) \
		$(if $(filter check-deb,$(MAKECMDGOALS)),debhelper dpkg-dev lintian fakeroot bash-completion man-db libxen-dev,) \
		$(if $(filter check-xen,$(MAKECMDGOALS)),python3 libxen-dev,)

# make reads pkg-config's answers before deps has run, so what builds runs in a second make
demo: deps
	@$(MAKE) --no-print-directory run-demo
check: deps
	@$(MAKE) --no-print-directory run-check
check-xen: deps
	@$(MAKE) --no-print-directory run-check-xen
bench: deps
	@$(MAKE) --no-print-directory run-bench

.PHONY: run-demo run-check run-bench
bench_bin = $(O)/bench/repeat $(O)/bench/measure $(O)/bench/insert
$(O)/bench/%: tests/bench/%.c $(O)/libxenfault.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(XF_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(O)/libxenfault.a $(LIBS)

run-bench: all $(bench_bin) $(standin)
	@python3 tests/bench/bench.py $(O)
	@sh tests/bench/live.sh $(O)
	@XENFAULT=$(O)/xenfault python3 tests/tui.py --bench

demo_db = $(O)/demo.db
run-demo: all
	@mkdir -p $(O)/demo
	@for f in dom0-dirty.bin dom0-kallsyms.txt; do \
		zstd -qdf examples/$$f.zst -o $(O)/demo/$$f; done
	@rm -f $(demo_db)
	$(O)/xenfault import -o $(demo_db) --cpu-hz 2445.4M --symbols $(O)/demo/dom0-kallsyms.txt \
		$(O)/demo/dom0-dirty.bin
	$(O)/xenfault forks $(demo_db)
	@echo
	@echo "The fork with 512 entries in each of 16 page-table pages, page by page:"
	$(O)/xenfault pages --fork 31 $(demo_db)
	@echo
	@echo "Next: $(O)/xenfault events --fork 31 $(demo_db), or SQL: sqlite3 $(demo_db) 'SELECT * FROM forks'"

unit_src = $(wildcard tests/unit/*.c)
unit_bin = $(unit_src:tests/unit/%.c=$(O)/unit/%)
$(O)/unit/symbols: unit_obj = $(O)/cli/symbols.o
$(O)/unit/symbols: $(O)/cli/symbols.o
$(O)/unit/%: tests/unit/%.c $(O)/libxenfault.a
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(XF_CFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(unit_obj) \
		$(O)/libxenfault.a $(LIBS)

.PHONY: unit
unit: $(unit_bin)

# Fuzz targets, tests/fuzz/NAME.c: with libFuzzer, and with a driver of their own and gcc.  Limits are so
# small that a few KB reach what a file needs megabytes for.
fuzz_targets = reader import symbols log database
FUZZ_SECONDS ?= 600
fuzz_limits = -DXF_CHUNK=512 -DRESIDENT_MAX=2048 -DXF_SOURCE_LOOKAHEAD=8192 -DXF_SLOTS=256 -DXF_EDGES=4096 \
	-DXF_MAX_PCPUS=1024
# no tracing of comparisons: it takes two thirds of the time, and finds nothing in these formats
fuzz_make = $(MAKE) --no-print-directory CC=clang SAN=1 O=$(O)/fuzz \
	CFLAGS='-O2 -g -fsanitize-coverage=inline-8bit-counters,pc-table' CPPFLAGS='$(fuzz_limits)'
drive_make = $(MAKE) --no-print-directory SAN=1 O=$(O)/drive CFLAGS='-O2 -g' CPPFLAGS='$(fuzz_limits)'
fuzz_bin = $(fuzz_targets:%=$(O)/%)
driven_bin = $(fuzz_targets:%=$(O)/driven/%)
fuzz_lib = $(O)/libcli.a $(O)/libxenfault.a
# what the commands need of their main program, under another name than main()
$(O)/renamed.o: cli/main.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(XF_CFLAGS) $(CFLAGS) $(CPPFLAGS) -Dmain=xf_main -Wno-missing-prototypes -c -o $@ $<
$(O)/libcli.a: $(filter-out $(O)/cli/main.o,$(cli_obj)) $(O)/renamed.o
	$(Q)rm -f $@; ar rcs $@ $^
$(fuzz_bin): $(O)/%: tests/fuzz/%.c tests/fuzz/fuzz.h $(fuzz_lib)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(XF_CFLAGS) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $< \
		$(fuzz_lib) $(LIBS) $(TUI_LIBS)
$(driven_bin): $(O)/driven/%: tests/fuzz/%.c tests/fuzz/driver.c tests/fuzz/fuzz.h $(fuzz_lib)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(XF_CFLAGS) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) -o $@ $< tests/fuzz/driver.c \
		$(fuzz_lib) $(LIBS) $(TUI_LIBS)

.PHONY: fuzz run-fuzz targets driven
targets: $(fuzz_bin)
driven: $(driven_bin)
fuzz: deps
	@$(MAKE) --no-print-directory run-fuzz
run-fuzz: packages
	@$(fuzz_make) targets
	@sh tests/fuzz/run.sh $(O)/fuzz "$(fuzz_targets)" $(FUZZ_SECONDS)

# Faults at every system call and allocation, and kill -9 at any time: tests/torture.py
torture_bin = $(O)/torture/inject $(O)/torture/nomem.so
$(O)/torture/inject: tests/torture/inject.c tests/torture/marker.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -I. -Wall -Wextra -Werror -Wshadow -O2 -g -o $@ $<
$(O)/torture/nomem.so: tests/torture/nomem.c tests/torture/marker.h
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -I. -Wall -Wextra -Werror -Wshadow -O2 -g -shared -fPIC -o $@ $<

# The fuzz targets have one CPU, each a fifth of the time; the faults and kills have the others.
TORTURE_SECONDS ?= 600
.PHONY: torture run-torture
torture: deps
	@$(MAKE) --no-print-directory run-torture
run-torture: all $(standin) $(torture_bin)
	@$(fuzz_make) targets
	@$(run_tests) "fuzz=sh tests/fuzz/run.sh $(O)/fuzz '$(fuzz_targets)' $$(($(TORTURE_SECONDS) / 5))" \
		"torture=TORTURE_SECONDS=$(TORTURE_SECONDS) O=$(O) XENFAULT=$(O)/xenfault python3 tests/torture.py"

# The programs of make check, NAME=COMMAND, those that take longest first.  run.py runs them side by
# side and takes T, the part of a name that cases must contain.
tests = $(patsubst tests/%.py,%,$(wildcard $(addprefix tests/,$(addsuffix .py, \
	record rights hostile hardening clocks growth cli badinput verify fleet people synthetic compare hap why truth points hypervisor memory mistakes names))))
standin_tests = $(if $(standin),record_standin drain)
# the same under ASan and UBSan
drive_tests = $(foreach t,reader:20000 import:300 symbols:20000 log:2000 database:150, \
	"fuzz-$(firstword $(subst :, ,$t))=sh tests/fuzz/run.sh $(O)/drive $(subst :, ,$t)")
san_tests = truth compare synthetic
run_tests = python3 tests/run.py
python_tests = $(foreach t,$(1),"$(t)=O=$(O) XENFAULT=$(O)/xenfault python3 tests/$(t).py")
unit_tests = $(foreach t,$(unit_src:tests/unit/%.c=%),"$(t)=$(1)/unit/$(t)")
style_test = "style=sh tests/style.sh $(O)"

# what needs no second build, without slow cases
.PHONY: quick run-quick
quick: deps
	@$(MAKE) --no-print-directory run-quick
run-quick: all unit $(standin)
	@XF_QUICK=1 $(run_tests) \
		"tui=XENFAULT=$(O)/xenfault XENFAULT_SAN=$(O)/xenfault python3 tests/tui.py" \
		$(call python_tests,complete $(standin_tests) $(tests)) $(style_test) "install=sh tests/install.sh $(O)" $(call unit_tests,$(O))

run-check: all unit $(standin) $(torture_bin)
	@$(MAKE) --no-print-directory SAN=1 O=$(O)/san all unit $(standin:$(O)/%=$(O)/san/%)
	@$(MAKE) --no-print-directory CC=clang O=$(O)/clang all
	@$(drive_make) driven
	@$(run_tests) "tui=XENFAULT=$(O)/xenfault XENFAULT_SAN=$(O)/san/xenfault python3 tests/tui.py" \
		$(foreach t,$(standin_tests),"san-$(t)=SAN=1 O=$(O)/san python3 tests/$(t).py") \
		$(call python_tests,complete torture $(standin_tests) $(tests)) $(drive_tests) \
		$(foreach t,$(san_tests),"san-$(t)=XF_TEST_DIR=$(O)/test-san XENFAULT=$(O)/san/xenfault python3 tests/$(t).py") \
		$(call unit_tests,$(O)/san) $(style_test) "install=sh tests/install.sh $(O)"

.PHONY: check-deb
check-deb: deps
	@$(run_tests) "deb=sh tests/deb.sh"

.PHONY: run-check-xen
run-check-xen: all
	@$(run_tests) --alone $(foreach t,$(wildcard tests/xen/*.py),"xen-$(basename $(notdir $(t)))=O=$(O) python3 $(t)")

# the workload programs stand beside xenfault-drain: examples/record-forkdirty.sh looks for them there
to = $(DESTDIR)$(PREFIX)
doc = $(to)/share/doc/xenfault
put = install -D -m 644 -t
install: all
	$(call say,INST,$(to))
	$(Q)install -D -m 755 -t $(to)/bin $(O)/xenfault
	$(Q)install -D -m 755 -t $(to)/libexec/xenfault $(drain) $(examples)
	$(if $(extension),$(Q)$(put) $(to)/lib/xenfault $(extension))
	$(if $(man_pages),$(Q)$(put) $(to)/share/man/man1 $(O)/man/*.1)
	$(if $(man_pages),$(Q)$(put) $(to)/share/man/man5 $(O)/man/*.5)
	$(if $(man_pages),$(Q)$(put) $(to)/share/bash-completion/completions $(O)/completions/xenfault)
	$(if $(man_pages),$(Q)$(put) $(to)/share/zsh/site-functions $(O)/completions/_xenfault)
	$(Q)$(put) $(doc) $(wildcard README.md) LICENSE SECURITY.md docs/*.md
	$(Q)$(put) $(doc)/examples $(filter-out %.sh examples/profiles,$(wildcard examples/*))
	$(Q)$(put) $(doc)/examples/profiles $(wildcard examples/profiles/*)
	$(Q)install -D -m 755 -t $(doc)/examples examples/*.sh

clean:
	rm -rf $(O)
