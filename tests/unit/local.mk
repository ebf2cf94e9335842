# SPDX-License-Identifier: Apache-2.0
# One line a test: the program, and the libraries that its layer may know (a call upwards does not link).
if HAVE_CMOCKA
UNIT_BASE =
UNIT_CORE =
UNIT_INPUT =
UNIT_RUN =
UNIT_TESTS = $(UNIT_BASE) $(UNIT_CORE) $(UNIT_INPUT) $(UNIT_RUN)
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
