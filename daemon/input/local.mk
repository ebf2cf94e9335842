# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libinput.a
libinput_a_SOURCES = \
	%D%/facts.c %D%/facts.h \
	%D%/inputs.c %D%/inputs.h \
	%D%/options.c %D%/options.h \
	%D%/output.c %D%/output.h \
	%D%/settings.c %D%/settings.h \
	%D%/tree.c %D%/tree.h
