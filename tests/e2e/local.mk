# SPDX-License-Identifier: Apache-2.0
# One story a file. Each runs alone too: SERRIED=/path/serried bats tests/e2e/19-lines.bats
E2E_STORIES = \
	%D%/01-values.bats \
	%D%/02-counts.bats \
	%D%/03-arguments.bats \
	%D%/04-too-big.bats \
	%D%/05-entry.bats \
	%D%/06-requirements.bats \
	%D%/08-rank-variables.bats \
	%D%/09-tuning.bats \
	%D%/10-secrets.bats \
	%D%/14-meeting.bats \
	%D%/15-order.bats \
	%D%/16-lost-hosts.bats \
	%D%/17-ends.bats \
	%D%/19-lines.bats \
	%D%/20-progress.bats \
	%D%/21-bytes.bats \
	%D%/22-console.bats \
	%D%/23-floods.bats \
	%D%/24-last-words.bats \
	%D%/25-failure-file.bats \
	%D%/26-first-cause.bats \
	%D%/27-exit-codes.bats \
	%D%/28-early-exit.bats \
	%D%/29-stop.bats \
	%D%/30-helpers.bats \
	%D%/31-survivors.bats \
	%D%/32-launcher-killed.bats \
	%D%/33-pid1.bats \
	%D%/36-trees.bats \
	%D%/38-plan.bats \
	%D%/bad-trees.bats \
	%D%/console.bats \
	%D%/contract-outcomes.bats \
	%D%/earlier-runs.bats \
	%D%/emulate.bats \
	%D%/hangs.bats \
	%D%/inherited.bats \
	%D%/many-hosts.bats \
	%D%/plan-text.bats \
	%D%/pytorch.bats \
	%D%/settings.bats \
	%D%/strangers.bats \
	%D%/torchrun.bats
EXTRA_DIST += $(E2E_STORIES) %D%/hosts.bash %D%/lib.bash %D%/.shellcheckrc %D%/programs/ddp.py

# Programs that stand for a user's: without sanitizers, which have an opinion on aborts and memory.
E2E_RANKS = \
	%D%/programs/bar \
	%D%/programs/flood \
	%D%/programs/helpers \
	%D%/programs/hog \
	%D%/programs/lastwords \
	%D%/programs/orphans \
	%D%/programs/reduce \
	%D%/programs/show \
	%D%/programs/signals \
	%D%/programs/survivors
%C%_programs_bar_SOURCES = %D%/programs/bar.c %D%/programs/rank.h
%C%_programs_bar_CFLAGS = $(WARN_CFLAGS)
%C%_programs_bar_LDFLAGS =
%C%_programs_flood_SOURCES = %D%/programs/flood.c %D%/programs/rank.h
%C%_programs_flood_CFLAGS = $(WARN_CFLAGS)
%C%_programs_flood_LDFLAGS =
%C%_programs_helpers_SOURCES = %D%/programs/helpers.c %D%/programs/rank.h
%C%_programs_helpers_CFLAGS = $(WARN_CFLAGS)
%C%_programs_helpers_LDFLAGS =
%C%_programs_hog_SOURCES = %D%/programs/hog.c %D%/programs/rank.h
%C%_programs_hog_CFLAGS = $(WARN_CFLAGS)
%C%_programs_hog_LDFLAGS =
%C%_programs_lastwords_SOURCES = %D%/programs/lastwords.c %D%/programs/rank.h
%C%_programs_lastwords_CFLAGS = $(WARN_CFLAGS)
%C%_programs_lastwords_LDFLAGS =
%C%_programs_orphans_SOURCES = %D%/programs/orphans.c %D%/programs/rank.h
%C%_programs_orphans_CFLAGS = $(WARN_CFLAGS)
%C%_programs_orphans_LDFLAGS =
%C%_programs_reduce_SOURCES = %D%/programs/reduce.c %D%/programs/rank.h
%C%_programs_reduce_CFLAGS = $(WARN_CFLAGS)
%C%_programs_reduce_LDFLAGS =
%C%_programs_show_SOURCES = %D%/programs/show.c %D%/programs/rank.h
%C%_programs_show_CFLAGS = $(WARN_CFLAGS)
%C%_programs_show_LDFLAGS =
%C%_programs_signals_SOURCES = %D%/programs/signals.c %D%/programs/rank.h
%C%_programs_signals_CFLAGS = $(WARN_CFLAGS)
%C%_programs_signals_LDFLAGS =
%C%_programs_survivors_SOURCES = %D%/programs/survivors.c %D%/programs/rank.h
%C%_programs_survivors_CFLAGS = $(WARN_CFLAGS)
%C%_programs_survivors_LDFLAGS =

if HAVE_BATS
check_PROGRAMS += $(E2E_RANKS)
TESTS += $(E2E_STORIES)
endif
