# SPDX-License-Identifier: Apache-2.0
TESTS += %D%/layers.sh %D%/settings.sh
# what tests/check runs besides `make check`
LINT_STAGES = \
	%D%/clang-format.stage \
	%D%/clang-tidy.stage \
	%D%/cppcheck.stage \
	%D%/shellcheck.stage \
	%D%/text.stage \
	%D%/valgrind.stage
EXTRA_DIST += %D%/layers.sh %D%/settings.sh $(LINT_STAGES) docs/layers.txt tests/.clang-tidy
