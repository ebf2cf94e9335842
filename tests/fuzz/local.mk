# SPDX-License-Identifier: Apache-2.0
# Each fuzz_NAME runs on every file of corpus/NAME in `make check`. For a new one: its row in
# FUZZERS, its three lines, its corpus. To let one search for new inputs:
#   clang -fsanitize=fuzzer,address,undefined -I. -Idaemon -Itests/fuzz tests/fuzz/fuzz_NAME.c SOURCES...
FUZZERS = tests/fuzz/fuzz_json tests/fuzz/fuzz_hyper tests/fuzz/fuzz_resource \
	tests/fuzz/fuzz_scan tests/fuzz/fuzz_lines tests/fuzz/fuzz_wire tests/fuzz/fuzz_agree \
	tests/fuzz/fuzz_testimony
check_PROGRAMS += $(FUZZERS)
TESTS += $(FUZZERS)

tests_fuzz_fuzz_json_SOURCES = %D%/fuzz_json.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_json_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
tests_fuzz_fuzz_json_LDADD = libbase.a $(CJSON_LIBS) -lm

tests_fuzz_fuzz_hyper_SOURCES = %D%/fuzz_hyper.c %D%/fuzz_job.h %D%/replay.c
tests_fuzz_fuzz_hyper_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
tests_fuzz_fuzz_hyper_LDADD = libcore.a libbase.a $(CJSON_LIBS) -lm

tests_fuzz_fuzz_resource_SOURCES = %D%/fuzz_resource.c %D%/fuzz_job.h %D%/replay.c
tests_fuzz_fuzz_resource_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
tests_fuzz_fuzz_resource_LDADD = libcore.a libbase.a $(CJSON_LIBS) -lm

tests_fuzz_fuzz_scan_SOURCES = %D%/fuzz_scan.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_scan_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
tests_fuzz_fuzz_scan_LDADD = libcore.a libbase.a $(CJSON_LIBS) -lm

tests_fuzz_fuzz_lines_SOURCES = %D%/fuzz_lines.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_lines_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
tests_fuzz_fuzz_lines_LDADD = libcore.a libbase.a $(CJSON_LIBS) -lm

tests_fuzz_fuzz_wire_SOURCES = %D%/fuzz_wire.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_wire_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
tests_fuzz_fuzz_wire_LDADD = libcore.a libbase.a $(CJSON_LIBS) -lm

tests_fuzz_fuzz_agree_SOURCES = %D%/fuzz_agree.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_agree_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
tests_fuzz_fuzz_agree_LDADD = libcore.a libbase.a $(CJSON_LIBS) -lm

tests_fuzz_fuzz_testimony_SOURCES = %D%/fuzz_testimony.c %D%/fuzz.h %D%/replay.c
tests_fuzz_fuzz_testimony_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/%D%
tests_fuzz_fuzz_testimony_LDADD = libcore.a libbase.a $(CJSON_LIBS) -lm

EXTRA_DIST += %D%/corpus
