# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += liblaunchers.a
liblaunchers_a_SOURCES = \
	%D%/choose.c \
	%D%/entrycmd.c \
	%D%/launcher.c %D%/launcher.h \
	%D%/plain.c \
	%D%/ranks.c \
	%D%/torch.c
