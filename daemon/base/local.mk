# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	%D%/buf.c %D%/buf.h \
	%D%/cleanup.c %D%/cleanup.h \
	%D%/clock.c %D%/clock.h \
	%D%/err.c %D%/err.h \
	%D%/files.c %D%/files.h \
	%D%/json.c %D%/json.h \
	%D%/json_parse.c \
	%D%/json_write.c \
	%D%/log.c %D%/log.h \
	%D%/mem.c %D%/mem.h \
	%D%/names.c %D%/names.h \
	%D%/num.c %D%/num.h \
	%D%/strv.c %D%/strv.h \
	%D%/unicode_tables.c %D%/unicode_tables.h \
	%D%/utf8.c %D%/utf8.h
# unicode_tables.c is its output
EXTRA_DIST += tests/tools/make-unicode
