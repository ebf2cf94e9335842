# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += serry
serry_SOURCES = \
	%D%/check.c \
	%D%/keygen.c \
	%D%/main.c \
	%D%/options.c \
	%D%/plan.c \
	%D%/plan_text.c \
	%D%/settings.c \
	%D%/verbs.h
serry_LDADD = $(SERRIED_PURE) $(CJSON_LIBS) -lm
