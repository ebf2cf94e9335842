# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += serry
serry_SOURCES = \
	%D%/check.c \
	%D%/emulate.c %D%/emulate.h \
	%D%/emulate_job.c \
	%D%/emulate_options.c \
	%D%/keygen.c \
	%D%/main.c \
	%D%/options.c \
	%D%/plan.c \
	%D%/plan_text.c \
	%D%/settings.c \
	%D%/verbs.h
serry_LDADD = libemulator.a $(SERRIED_PURE) $(UV_LIBS) $(CJSON_LIBS) -lm
