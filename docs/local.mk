# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += \
	%D%/man/serry-plan.5 \
	%D%/man/serry-wire.7 \
	%D%/man/serry.1 \
	%D%/man/serried.8 \
	%D%/man/serried.json.5

# Writes anew what is made from the table of settings; tests/lint/settings.sh compares.
docs: serry$(EXEEXT)
	SERRY=./serry$(EXEEXT) srcdir='$(srcdir)' $(srcdir)/tests/lint/settings.sh --write
.PHONY: docs
